"""How charts look: fonts, colours, lines; on white, and for the page on a dark screen."""

from __future__ import annotations

from typing import Any

FONT = (
    "'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Hiragino Sans', 'Microsoft YaHei', "
    "'Malgun Gothic', sans-serif"
)
"""Noto has all scripts and is free; the others come with a system."""
FEW = 10
"""Series that have a colour of their own in the usual palette; of more the colours are paler."""
_LIGHT = {"paper": "#ffffff", "ink": "#1f2328", "quiet": "#59636e", "line": "#e4e7eb"}
_DARK = {"paper": "#16181d", "ink": "#e6e8eb", "quiet": "#a4abb5", "line": "#32363e"}


def config(*, dark: bool = False) -> dict[str, Any]:
    """The `config` of a Vega-Lite specification."""
    tone = _DARK if dark else _LIGHT
    return {
        "font": FONT,
        "background": tone["paper"],
        "padding": 14,
        "view": {"stroke": None},
        "title": {"anchor": "start", "fontSize": 16, "offset": 14, "color": tone["ink"]},
        "axis": _axis(tone),
        "legend": {
            "labelColor": tone["quiet"],
            "titleColor": tone["ink"],
            "labelFontSize": 11,
            "titleFontSize": 12,
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


def _axis(tone: dict[str, str]) -> dict[str, Any]:
    return {
        "labelColor": tone["quiet"],
        "titleColor": tone["ink"],
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titlePadding": 10,
        "labelOverlap": "greedy",
        "labelSeparation": 8,
        "gridColor": tone["line"],
        "domainColor": tone["quiet"],
        "tickColor": tone["quiet"],
    }
