"""The specification of a chart: its type, its columns, and the configuration all charts share."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from manus.state.errors import ToolError

TYPES: dict[str, tuple[str, ...]] = {
    "line": ("x", "y"),
    "bar": ("x",),
    "area": ("x", "y"),
    "scatter": ("x", "y"),
    "histogram": ("x",),
    "heatmap": ("x", "y"),
    "box": ("y",),
    "pie": ("x",),
}
"""The chart types, each with its required columns."""
COLUMNS = ("x", "y", "color", "value")
Span = Literal["hour", "day", "week", "month", "quarter", "year"]
Aggregate = Literal["sum", "mean", "median", "min", "max", "count"]
CONFIG: dict[str, Any] = {
    # Noto covers all scripts and is free; the others come with an operating system
    "font": "'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Hiragino Sans', "
    "'Microsoft YaHei', 'Malgun Gothic', sans-serif",
    "background": "#ffffff",
    "padding": 14,
    "view": {"stroke": None},
    "title": {"anchor": "start", "fontSize": 16, "offset": 14},
    "axis": {
        "labelFontSize": 11,
        "labelOverlap": "greedy",
        "labelSeparation": 8,
        "titleFontSize": 12,
    },
    "legend": {"labelFontSize": 11, "titleFontSize": 12, "labelLimit": 200, "symbolOpacity": 1},
    "range": {"heatmap": {"scheme": "yellowgreenblue"}},
    "mark": {"tooltip": True},
    "arc": {"stroke": "#ffffff", "strokeWidth": 1.5},
}


class Chart(BaseModel):
    """A declarative chart specification."""

    model_config = ConfigDict(extra="forbid")

    type: Literal[tuple(TYPES)] = Field(description="The type of chart")  # type: ignore[valid-type]
    x: str | None = Field(None, description="Column along the bottom; for `pie` the categories")
    y: str | list[str] | None = Field(None, description="Column or columns of numbers; pie: sizes")
    color: str | None = Field(None, description="Column that divides the data into series")
    value: str | None = Field(None, description="Only `heatmap`: column of numbers to color by")
    aggregate: Aggregate | None = Field(None, description="Over rows of one `x` (bar, pie: `sum`)")
    per: Span | None = Field(None, description="Groups dates of `x` (line, bar, area)")
    log: bool = Field(False, description="Only `line` and `scatter`: a logarithmic `y`")
    stack: bool = Field(True, description="Whether series of `bar` and `area` are stacked")
    bins: int = Field(30, ge=1, le=500, description="Only `histogram`: about how many bars")
    sort: Literal["x", "value"] = Field("x", description="Categories in order, or largest first")
    top: int = Field(50, ge=1, le=200, description="Maximum number of categories or series")
    title: str = Field("", max_length=300, description="Title above the chart")
    x_title: str | None = Field(None, description="Label of `x` instead of the column's name")
    y_title: str | None = Field(None, description="Label of `y` instead of the column's name")
    width: int = Field(720, ge=100, le=2400, description="Pixels")
    height: int = Field(420, ge=100, le=2400, description="Pixels")

    def require_columns(self) -> None:
        """Raise `ToolError` if a required column is missing."""
        missing = [f"`{name}`" for name in TYPES[self.type] if not getattr(self, name)]
        if missing:
            names = " and ".join(missing)
            raise ToolError(f"A `{self.type}` chart needs {names}: a column.")
