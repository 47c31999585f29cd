"""The process that makes a chart: `manus.tools.chart.worker JOB`, the job in JSON.

A process of its own, since reading and drawing take seconds of one core and whatever memory the
file asks for. It writes the PNG and the page, and prints a line of JSON: how many `rows` there are,
`notes` and `colors`, or an `error`, or the package that is `missing`. A job without data only makes
the program that pages draw with.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any, cast

from manus.config.files import write_atomically
from manus.execution.text_files import replace_file
from manus.state.errors import ToolError

_FEW = 12
"""Rows that are drawn and told of, too."""
_TOLD = ("color", "x", "x2", "y", "value")


def main(job: dict[str, Any]) -> dict[str, Any]:
    """Make a chart; what is to be said of it."""
    try:
        return _make(job)
    except ToolError as error:
        return {"error": str(error)}
    except ModuleNotFoundError as error:
        return {"missing": str(error.name)}


def _make(job: dict[str, Any]) -> dict[str, Any]:
    import vl_convert

    from manus.tools.chart.draw import specify
    from manus.tools.chart.spec import Chart
    from manus.tools.chart.table import read_table

    bundle = Path(job["bundle"])
    if "data" not in job:
        _bundle(bundle)
        return {}
    frame = read_table(Path(job["data"]), job["shown"], job["sheet"])
    spec, notes = specify(Chart.model_validate(job["chart"]), frame, job["colors"])
    picture = Path(job["picture"])
    drawn = vl_convert.vegalite_to_png(spec, scale=1.5, allowed_base_urls=[])
    try:
        replace_file(picture, drawn)
        replace_file(picture.with_suffix(".html"), _page(spec, bundle).encode())
    except OSError as error:
        raise ToolError(f"{job['output']} cannot be written: {error.strerror}.") from None
    notes = [*_drawn(spec["data"]["values"]), *notes]
    return {"rows": len(frame), "notes": notes, "colors": job["colors"]}


def _drawn(rows: list[dict[str, Any]]) -> list[str]:
    """What few bars or points stand for, so that nobody has to read it off the picture."""
    if len(rows) > _FEW:
        return []
    shown = [" ".join(_text(row[key]) for key in _TOLD if key in row) for row in rows]
    return [f"Drawn: {'; '.join(shown)}"]


def _text(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value).removesuffix("T00:00:00")


def _page(spec: dict[str, Any], kept: Path) -> str:
    """The chart as one HTML page that asks for nothing from anywhere."""
    from jinja2 import Environment, PackageLoader

    templates = Environment(loader=PackageLoader("manus.tools.chart", ""), autoescape=True)
    bundle = _bundle(kept).replace("</script", "<\\/script")
    title = spec.get("title") or "Chart"
    return templates.get_template("page.html.j2").render(title=title, spec=spec, bundle=bundle)


def _bundle(kept: Path) -> str:
    """What pages draw with. Putting it together takes seconds, so it is kept."""
    import vl_convert

    with contextlib.suppress(OSError, UnicodeDecodeError):
        return kept.read_text("utf-8")
    bundle: str = vl_convert.javascript_bundle(cast(Any, None))  # its types want a snippet
    with contextlib.suppress(OSError):  # in a place that cannot be written to nothing is kept
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, bundle.encode())
    return bundle


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))  # noqa: T201 - the answer
