"""What the types of charts have in common: rows, channels, axes, colours. In the worker."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from manus.tools.chart.spec import Chart
from manus.tools.chart.theme import FEW

Channels = dict[str, Any]
_WIDE, _NARROW = 11.5, 6.4
"""Pixels of a character of a label, of a CJK script and of others."""
_LINE = 12
"""Pixels that an upright or slanted label takes; where there are fewer, some are left out."""
_SLANTED = 40
"""Labels that can be read when they are slanted; more of them stand upright."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Rows, and the part of a specification that draws them: a mark with its encoding, or layers.

    The columns of the rows have plain names, so that no name is ever read as an expression.
    """

    rows: Any
    body: dict[str, Any]


def drawn(mark: dict[str, Any], encoding: Channels, rows: Any) -> Drawing:
    """One mark, with a tooltip that names the columns as the user does."""
    return Drawing(rows, {"mark": mark, "encoding": {**encoding, **tooltip(encoding)}})


def values(rows: Any) -> list[dict[str, Any]]:
    """A table as the rows of a specification."""
    found: list[dict[str, Any]] = json.loads(
        rows.to_json(orient="records", date_format="iso", force_ascii=False)
    )
    return found


def tooltip(encoding: Channels) -> Channels:
    """What is shown of a mark that is pointed at."""
    shown = {
        channel["field"]: {
            key: channel[key] for key in ("field", "type", "title") if key in channel
        }
        for channel in encoding.values()
        if isinstance(channel, dict) and channel.get("title")
    }
    return {"tooltip": list(shown.values())}


def color(chart: Chart, rows: Any, order: Sequence[str] = ()) -> Channels:
    """The channel of the series, in their order; without a legend where the axis says it all."""
    if "color" not in rows:
        return {}
    channel: dict[str, Any] = {"field": "color", "type": "nominal", "title": chart.color}
    names = set(rows["color"].unique())
    if order:
        channel["sort"] = [name for name in order if name in names]
    if len(names) > FEW:
        channel["scale"] = {"scheme": "tableau20"}
    if chart.color == chart.x and chart.type in ("bar", "box"):
        channel["legend"] = None
    return {"color": channel}


def labels(names: Sequence[Any], width: float) -> dict[str, Any]:
    """An axis whose labels lie flat where there is room for them, and else are slanted."""
    widest = max((_width(str(name)) for name in names), default=0.0)
    room = width / max(len(names), 1)
    if widest + 8 <= room:
        return {"labelAngle": 0, "labelLimit": room}
    angle = -40 if len(names) <= _SLANTED else -90
    return {"labelAngle": angle, "labelLimit": 150, "labelOverlap": room < _LINE}


def _width(text: str) -> float:
    return sum(_WIDE if unicodedata.east_asian_width(c) in "WF" else _NARROW for c in text)
