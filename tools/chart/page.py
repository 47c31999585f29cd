"""A chart as one HTML page that asks for nothing from anywhere."""

from __future__ import annotations

import contextlib
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, PackageLoader

from manus.state.files import write_atomically
from manus.tools.chart.theme import config


def page(spec: dict[str, Any], bundle: str) -> str:
    """The page of a specification; `bundle` is the script that draws it."""
    templates = Environment(loader=PackageLoader("manus.tools.chart", ""), autoescape=True)
    return templates.get_template("page.html.j2").render(
        title=spec.get("title") or "Chart",
        light=config()["background"],
        dark=config(dark=True),
        spec=spec,
        bundle=bundle.replace("</script", "<\\/script"),
    )


def script(cache: Path) -> str:
    """The program that draws, with all it needs.

    Putting it together takes seconds, and it is always the same: it is kept in the folder `cache`.
    """
    kept = cache / f"vega-{version('vl-convert-python')}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return kept.read_text("utf-8")
    bundle = _bundle()
    with contextlib.suppress(OSError):  # a cache that cannot be written is none
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, bundle.encode())
    return bundle


def _bundle() -> str:
    import vl_convert

    everything = cast(Any, None)  # the types know of no call without a snippet
    bundle: str = vl_convert.javascript_bundle(everything)
    return bundle
