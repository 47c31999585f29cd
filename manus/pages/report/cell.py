"""A run as the output of a notebook cell: HTML that folds without a script and loads nothing."""

from __future__ import annotations

from manus.pages.report.files import find_changed_files
from manus.pages.report.page import asset, environment
from manus.pages.trace.model import Run


def run_cell(run: Run, summary: str) -> str:
    """Render a run as HTML for a notebook's output cell. Blocking: it reads the changed files.

    Args:
        run: an agent's run, or a flow's whose stages are the steps of its plan.
        summary: one line on how the run ended and what it used.
    """
    files, _ = find_changed_files(run)
    template = environment().get_template("cell.html")
    # `kind` and `is_live` decide in the shared macros what only a page has
    return template.render(
        kind="cell", is_live=False, style=asset("cell.css"), run=run, files=files, summary=summary
    )
