"""How charts look: fonts, colours, lines; on white, and for the page on a dark screen."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

FONT = (
    "'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Hiragino Sans', 'Microsoft YaHei', "
    "'Malgun Gothic', sans-serif"
)
"""Noto has all scripts and is free; the others come with a system."""
_LIGHT = {"paper": "#ffffff", "ink": "#1f2328", "quiet": "#59636e", "line": "#e4e7eb"}
_DARK = {"paper": "#16181d", "ink": "#e6e8eb", "quiet": "#a4abb5", "line": "#32363e"}
_TEXT = {"labelFontSize": 11, "titleFontSize": 12}
_WIDE, _NARROW, _LINE = 11.5, 6.4, 12
"""Pixels: a character of a CJK script, of any other, and the height of a line."""
_SLANTED = 40
"""Labels that can be read when they are slanted; more of them stand upright."""


def config(*, dark: bool = False) -> dict[str, Any]:
    """The `config` of a Vega-Lite specification."""
    tone = _DARK if dark else _LIGHT
    axis = {"labelColor": tone["quiet"], "titleColor": tone["ink"], "tickColor": tone["quiet"]}
    return {
        "font": FONT,
        "background": tone["paper"],
        "padding": 14,
        "view": {"stroke": None},
        "title": {"anchor": "start", "fontSize": 16, "offset": 14, "color": tone["ink"]},
        "axis": {
            **_TEXT,
            **axis,
            "titlePadding": 10,
            "labelOverlap": "greedy",
            "labelSeparation": 8,
            "gridColor": tone["line"],
            "domainColor": tone["quiet"],
        },
        "legend": {
            **_TEXT,
            "labelColor": tone["quiet"],
            "titleColor": tone["ink"],
            "labelLimit": 200,
            "symbolOpacity": 1,
        },
        "range": {"category": {"scheme": "tableau10"}, "heatmap": {"scheme": "yellowgreenblue"}},
        "line": {"strokeWidth": 2},
        "arc": {"stroke": tone["paper"], "strokeWidth": 1.5},
        "text": {"color": tone["ink"], "fontSize": 12},
        "rule": {"color": tone["quiet"]},
        "tick": {"color": tone["paper"]},
    }


def labels(names: Sequence[Any], width: float) -> dict[str, Any]:
    """An axis whose labels lie flat where there is room for them, and are slanted elsewhere."""
    widest = max((_width(str(name)) for name in names), default=0.0)
    room = width / max(len(names), 1)
    if widest + 8 <= room:
        return {"labelAngle": 0, "labelLimit": room}
    angle = -40 if len(names) <= _SLANTED else -90
    return {"labelAngle": angle, "labelLimit": 150, "labelOverlap": room < _LINE}


def _width(text: str) -> float:
    return sum(_WIDE if unicodedata.east_asian_width(c) in "WF" else _NARROW for c in text)
