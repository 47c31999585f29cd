"""The process that makes a chart: `python -P -m manus.tools.chart.worker FOLDER`.

A process of its own, since reading and drawing take seconds of one core and whatever memory the
file asks for. It finds `job.json` in the folder and leaves `result.json`, and, where there is no
error in it, `chart.png` and `chart.html`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from manus.state.errors import ToolError


def main(folder: Path) -> None:
    """Make the chart of a folder."""
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    try:
        result = _make(job, folder)
    except ToolError as error:
        result = {"error": str(error)}
    except ModuleNotFoundError as error:
        result = {"missing": str(error.name)}
    text = json.dumps(result, ensure_ascii=False)
    (folder / "result.json").write_text(text, encoding="utf-8")


def _make(job: dict[str, Any], folder: Path) -> dict[str, Any]:
    import vl_convert

    from manus.tools.chart.draw import specify
    from manus.tools.chart.page import page, script
    from manus.tools.chart.spec import Chart
    from manus.tools.chart.table import read_table

    chart = Chart.model_validate(job["chart"])
    frame = read_table(Path(job["data"]), job["shown"], job["sheet"])
    spec, notes = specify(chart, frame)
    picture = vl_convert.vegalite_to_png(spec, scale=1.5, allowed_base_urls=[])
    (folder / "chart.png").write_bytes(picture)
    (folder / "chart.html").write_text(page(spec, script(Path(job["cache"]))), encoding="utf-8")
    return {"rows": len(frame), "notes": notes}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
