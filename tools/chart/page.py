"""A chart as one HTML page that asks for nothing from anywhere."""

from __future__ import annotations

import html
import json
from typing import Any, cast

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
body {{ margin: 1.5rem; background: #fff; }}
#chart {{ overflow-x: auto; }}
</style>
</head>
<body>
<div id="chart"></div>
<script type="application/json" id="spec">{spec}</script>
<script>{bundle}</script>
<script>{script}</script>
</body>
</html>
"""
_DRAW = """
const spec = JSON.parse(document.getElementById("spec").textContent);
const actions = {export: true, source: false, compiled: false, editor: false};
vegaEmbed("#chart", spec, {renderer: "canvas", actions})
  .then(() => { document.body.dataset.drawn = "yes"; });
"""


def page(spec: dict[str, Any], bundle: str) -> str:
    """The page of a specification; `bundle` is the script that draws it."""
    data = json.dumps(spec, ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        data = data.replace(character, f"\\u{ord(character):04x}")
    return _PAGE.format(
        lang="en",
        policy=html.escape(_POLICY),
        title=html.escape(str(spec.get("title") or "Chart")),
        spec=data,
        bundle=bundle.replace("</script", "<\\/script"),
        script=_DRAW,
    )


def script() -> str:
    """The program that draws, with all it needs. Takes seconds."""
    import vl_convert

    everything = cast(Any, None)  # the types know of no call without a snippet
    bundle: str = vl_convert.javascript_bundle(everything)
    return bundle
