"""A chart as one HTML page that asks for nothing from anywhere."""

from __future__ import annotations

import contextlib
import html
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from manus.state.files import write_atomically
from manus.tools.chart.theme import config

# Vega compiles its expressions with `Function`: hence 'unsafe-eval'. Nothing can be loaded or sent.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)
_PAGE = """<!DOCTYPE html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>
body {{ margin: 0.5rem; background: {light}; color-scheme: light dark; }}
#chart {{ overflow-x: auto; }}
@media (prefers-color-scheme: dark) {{ body {{ background: {dark}; }} }}
</style>
</head>
<body>
<div id="chart"></div>
<script type="application/json" id="spec">{spec}</script>
<script type="application/json" id="dark">{config}</script>
<script>{bundle}</script>
<script>{script}</script>
</body>
</html>
"""
_DRAW = """
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const actions = {export: true, source: false, compiled: false, editor: false};
async function draw() {
  const spec = read("spec");
  if (dark.matches) spec.config = read("dark");
  await vegaEmbed("#chart", spec, {renderer: "canvas", actions});
  document.body.dataset.drawn = dark.matches ? "dark" : "light";
}
dark.addEventListener("change", draw);
draw();
"""


def page(spec: dict[str, Any], bundle: str) -> str:
    """The page of a specification; `bundle` is the script that draws it."""
    light, dark = config(), config(dark=True)
    return _PAGE.format(
        lang="en",
        policy=html.escape(_POLICY),
        title=html.escape(str(spec.get("title") or "Chart")),
        light=light["background"],
        dark=dark["background"],
        spec=_data(spec),
        config=_data(dark),
        bundle=bundle.replace("</script", "<\\/script"),
        script=_DRAW,
    )


def _data(given: Any) -> str:
    """JSON that can stand between the tags of a script."""
    data = json.dumps(given, ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        data = data.replace(character, f"\\u{ord(character):04x}")
    return data


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
