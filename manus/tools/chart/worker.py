"""The worker process that draws a chart: `manus.tools.chart.worker JOB`, with the job in JSON.

It is a separate process because reading and drawing take seconds of CPU time and as much memory as
the file needs. It writes the PNG and the page, and prints one line of JSON: the number of
`rows`, `notes` and `colors`, or an `error`, or the name of a `missing` package. A job without data
only builds the JavaScript bundle of the pages.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any, cast

from manus.config.files import write_atomically
from manus.state.errors import ToolError
from manus.workspace.text_files import replace_file

_MAX_DESCRIBED = 12
"""Maximum number of drawn rows that are also listed for the model."""
_DESCRIBED_COLUMNS = ("color", "x", "x2", "y", "value")


def main(job: dict[str, Any]) -> dict[str, Any]:
    """Draw a chart and return the result or the error."""
    try:
        return _make_chart(job)
    except ToolError as error:
        return {"error": str(error)}
    except ModuleNotFoundError as error:
        return {"missing": str(error.name)}


def _make_chart(job: dict[str, Any]) -> dict[str, Any]:
    import vl_convert

    from manus.tools.chart.draw import specify
    from manus.tools.chart.spec import Chart
    from manus.tools.chart.table import read_table

    bundle = Path(job["bundle"])
    if "data" not in job:
        _load_bundle(bundle)
        return {}
    frame = read_table(Path(job["data"]), job["shown"], job["sheet"])
    spec, notes = specify(Chart.model_validate(job["chart"]), frame, job["colors"])
    picture = Path(job["picture"])
    png = vl_convert.vegalite_to_png(spec, scale=1.5, allowed_base_urls=[])
    try:
        replace_file(picture, png)
        replace_file(picture.with_suffix(".html"), _render_page(spec, bundle).encode())
    except OSError as error:
        raise ToolError(f"Cannot write {job['output']}: {error.strerror}.") from None
    notes = [*_describe_rows(spec["data"]["values"]), *notes]
    return {"rows": len(frame), "notes": notes, "colors": job["colors"]}


def _describe_rows(rows: list[dict[str, Any]]) -> list[str]:
    """List the values of a few bars or points, so that they need not be read off the image."""
    if len(rows) > _MAX_DESCRIBED:
        return []
    lines = []
    for row in rows:
        values = [_format_value(row[name]) for name in _DESCRIBED_COLUMNS if name in row]
        lines.append(" ".join(values))
    return [f"Drawn: {'; '.join(lines)}"]


def _format_value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.12g}"
    return str(value).removesuffix("T00:00:00")


def _render_page(spec: dict[str, Any], bundle_path: Path) -> str:
    """Return the chart as one self-contained HTML page."""
    from jinja2 import Environment, PackageLoader

    templates = Environment(loader=PackageLoader("manus.tools.chart", ""), autoescape=True)
    bundle = _load_bundle(bundle_path).replace("</script", "<\\/script")
    title = spec.get("title") or "Chart"
    return templates.get_template("page.html.j2").render(title=title, spec=spec, bundle=bundle)


def _load_bundle(path: Path) -> str:
    """Return the JavaScript bundle of the pages. Building it takes seconds, so it is cached."""
    import vl_convert

    with contextlib.suppress(OSError, UnicodeDecodeError):
        return path.read_text("utf-8")
    bundle: str = vl_convert.javascript_bundle(cast(Any, None))  # its type hints require a snippet
    with contextlib.suppress(OSError):  # not cached if the folder is not writable
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, bundle.encode())
    return bundle


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))  # noqa: T201 - the result
