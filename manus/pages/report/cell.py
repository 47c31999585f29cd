"""Render a run as a notebook cell: static HTML without scripts or external resources."""

from __future__ import annotations

from manus.pages.report.files import StepPictures, find_changed_files
from manus.pages.report.page import asset, environment
from manus.pages.trace.model import TraceRun


def run_cell(run: TraceRun, summary: str) -> str:
    """Render a run as HTML for a notebook's output cell. Blocking: it reads the changed files.

    Args:
        run: a run of an agent, or of a flow with the steps of its plan as stages.
        summary: one line about how the run ended and what it used.
    """
    files, _ = find_changed_files(run)
    template = environment().get_template("cell.html")
    # the shared macros use `kind` and `is_live` to omit what only a page has
    return template.render(
        kind="cell",
        is_live=False,
        style=asset("cell.css"),
        run=run,
        files=files,
        summary=summary,
        pictures=StepPictures([run], is_live=False),
    )
