"""Render TeX formulas as MathML, which browsers draw without a script or a font file."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from markupsafe import escape

_ATTRIBUTES = {
    "display",
    "mathvariant",
    "stretchy",
    "fence",
    "accent",
    "columnalign",
    "linethickness",
}
"""Attributes kept in MathML: none that loads, links or styles anything."""


def render_formula(tex: str, *, is_block: bool) -> str:
    """Return a formula as MathML; as code if it cannot be converted."""
    from latex2mathml.converter import convert_to_element

    try:
        root = convert_to_element(tex.strip(), display="block" if is_block else "inline")
    except Exception:  # noqa: BLE001 - its errors have no common base class
        return f"<code>{escape(tex)}</code>"
    for element in root.iter():
        for name in set(element.attrib) - _ATTRIBUTES:
            del element.attrib[name]
        # the library writes symbols as character references
        element.text = _unescape(element.text)
    return ElementTree.tostring(root, encoding="unicode")


def _unescape(text: str | None) -> str | None:
    from html import unescape

    return unescape(text) if text else text


def add_formulas(parser: Any) -> None:
    r"""Let a Markdown parser read `$…$`, `$$…$$`, `\(…\)` and `\[…\]`.

    A dollar sign before a space or next to a digit is a price.
    """
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.texmath import texmath_plugin

    parser.use(dollarmath_plugin, allow_labels=False, allow_space=False, allow_digits=False)
    parser.use(texmath_plugin, delimiters="brackets")
    for name in ("math_inline", "math_inline_double", "math_single"):
        parser.add_render_rule(name, _render_inline)
    for name in ("math_block", "math_block_eqno"):
        parser.add_render_rule(name, _render_block)


def _render_inline(_renderer: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    return render_formula(tokens[index].content, is_block=False)


def _render_block(_renderer: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    return f"<p>{render_formula(tokens[index].content, is_block=True)}</p>\n"
