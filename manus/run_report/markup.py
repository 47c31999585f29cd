"""HTML from Python: every text is escaped unless it is `Html` already."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from html import escape

from manus.text import clean


class Html(str):
    """A text that is HTML; only the functions of this package make it."""

    __slots__ = ()


Child = str | Html | None
Attribute = str | int | float | bool | None

# What stays as it is in HTML: most texts and attributes, so that they are not looked at thrice.
_PLAIN = re.compile(r"[\n !#-%(-;=?-~]*")
_VOID = frozenset({"br", "hr", "img", "input", "meta", "link", "rect", "line", "path", "circle"})


def text(given: str) -> Html:
    """A text as HTML: escaped, and without control characters and marks that turn its direction."""
    if _PLAIN.fullmatch(given):
        return Html(given)
    return Html(escape(clean(given), quote=True))


def join(parts: Iterable[Child], between: str = "") -> Html:
    """Parts one after the other; texts among them are escaped."""
    return Html(text(between).join(_child(part) for part in parts))


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """An element. `class_` is the attribute `class`, `data_v` is `data-v`; None leaves one out."""
    head = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID and not children:
        return Html(f"<{name}{head}>" if name in _HTML_VOID else f"<{name}{head}/>")
    return Html(f"<{name}{head}>{''.join(map(_child, children))}</{name}>")


def block(name: str, key: str, /, *children: Child, **attributes: Attribute) -> Html:
    """An element that a live page replaces when what is in it has changed."""
    inside = join(children)
    digest = hashlib.blake2s(inside.encode("utf-8", "replace"), digest_size=6).hexdigest()
    return tag(name, inside, id=key, data_v=digest, **attributes)


_HTML_VOID = frozenset({"br", "hr", "img", "input", "meta", "link"})


def _child(part: Child) -> Html:
    if part is None:
        return Html()
    return part if isinstance(part, Html) else text(part)


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(str(value))}"'
