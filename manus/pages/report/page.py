"""Render a thread as one HTML file, or a run as a notebook cell, without other resources."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from rich.filesize import decimal

from manus.pages.report.files import (
    ChangedFile,
    StepPictures,
    find_changed_files,
    find_edit,
    locate_file,
)
from manus.pages.trace.model import Stage, TraceRun, omit_old_steps, split_at_messages
from manus.prompts import formatting
from manus.prompts.markdown import prose
from manus.state.endings import WAITING, get_ending
from manus.state.usage import RoleUsage, sum_tokens

_FOLDER = Path(__file__).parent / "templates"
_MAX_TEXT = 20_000
"""Characters. Longer texts are cut in the middle."""
_MIN_BAR_WIDTH = 0.2
"""Percent of the timeline's width."""
DECISIONS = {
    "yes": "Yes",
    "run": "Yes, for this run",
    "web": "Yes, anything to the web in this run",
    "always": "Always in this folder",
    "no": "No",
}
"""Answers to a question about a call, in words for a person."""
_TAG = re.compile(r"^\[[\w-]+\]\s*")


class Clock:
    """Time since the start of a run, excluding pauses."""

    def __init__(self, run: TraceRun) -> None:
        self._start = run.started_at or datetime.now(UTC)
        self._idle = run.idle
        self.length = max(self.seconds(run.ended_at), 0.001)
        """Seconds."""

    def seconds(self, when: datetime | None) -> float:
        """Return the seconds of work up to a moment; 0 for None."""
        if when is None:
            return 0.0
        paused = 0.0
        for begin, end in self._idle:
            paused += max((min(when, end) - begin).total_seconds(), 0.0)
        return max((when - self._start).total_seconds() - paused, 0.0)

    def between(self, begin: datetime | None, end: datetime | None) -> float:
        """Return the seconds of work between two moments."""
        return max(self.seconds(end) - self.seconds(begin), 0.0)

    def position(self, when: datetime | None) -> float:
        """Return a moment's position between the start, 0, and the end, 1."""
        return min(self.seconds(when) / self.length, 1.0)

    def box(self, begin: datetime | None, end: datetime | None) -> tuple[float, float]:
        """Return the left edge and the width of a bar in percent, wide enough to be visible."""
        start = 100 * self.position(begin)
        width = max(100 * self.position(end) - start, _MIN_BAR_WIDTH)
        return min(start, 100 - width), width

    @property
    def idle(self) -> list[tuple[float, float]]:
        """Pauses as (position, seconds)."""
        return [(self.position(begin), (end - begin).total_seconds()) for begin, end in self._idle]


@dataclass(frozen=True, slots=True)
class RunReport:
    """A run and the files it changed, as one section of the page."""

    key: str
    """Prefix of the HTML ids of the section."""
    run: TraceRun
    clock: Clock
    files: list[ChangedFile]
    files_note: str


def page(thread_id: str, runs: Sequence[TraceRun], *, place: str = "") -> str:
    """Return the report of a thread as HTML. Blocking: it reads files of the workspace.

    `place` is the location of the store, shown in the footer.
    """
    return render_page("page", thread_id, runs, place, is_live=False)[0]


def render_page(
    kind: str,
    thread_id: str,
    runs: Sequence[TraceRun],
    place: str,
    *,
    is_live: bool = True,
    **values: Any,
) -> tuple[str, str]:
    """Return a page of a thread and its content security policy. Blocking.

    `kind` is the name of the template, and of its style sheet and script, which are added to those
    of a report. A live page updates itself while the thread runs.
    """
    style = asset("page.css")
    script = asset("page.js")
    if kind != "page":
        style = style + asset(f"{kind}.css")
        script = script + asset(f"{kind}.js")
    policy = _policy(style, script, is_live=is_live)
    variables = {"kind": kind, "thread_id": thread_id, "place": place, "is_live": is_live, **values}
    reports = []
    for run in runs:
        files, files_note = find_changed_files(run)
        reports.append(RunReport(f"r{run.number}", run, Clock(run), files, files_note))
    variables["runs"] = reports
    variables["pictures"] = StepPictures(runs, is_live=is_live)
    variables["locate"] = lambda run: partial(locate_file, run, is_live=is_live)
    if kind == "ui":
        omit_old_steps(runs, variables["window"])
    template = environment().get_template(f"{kind}.html")
    return template.render(variables, style=style, script=script, policy=policy), policy


def _policy(style: str, script: str, *, is_live: bool) -> str:
    """Build the policy: own style and script, embedded images, the own server if live."""
    server = "'self'" if is_live else ""
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"img-src data: {server}; connect-src {server}; "
        f"style-src {_digest(style)}; script-src {_digest(script)}"
    )


def _digest(code: str) -> str:
    digest = hashlib.sha256(code.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


@cache
def asset(name: str) -> Markup:
    """Return a style sheet or script."""
    return Markup((_FOLDER / name).read_text("utf-8"))


@cache
def environment() -> Environment:
    """Return the template environment; it escapes all text and drops control characters."""
    templates = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        finalize=_clean_value,
    )
    for name in ("span", "moment", "first_line", "main_argument", "gist"):
        templates.filters[name] = getattr(formatting, name)
    templates.filters.update(cut=cut, prose=prose, size=decimal, counted=formatting.count)
    templates.filters.update(date=_short_date, answer=describe_answer, split=split_at_messages)
    templates.filters.update(json=_as_json, tokens=_tokens, total=sum_tokens, edit=find_edit)
    templates.globals.update(
        state=state, reason=reason, stage_name=stage_name, now=partial(datetime.now, UTC)
    )
    return templates


def _clean_value(value: Any) -> Any:
    if value is None:
        return ""
    return formatting.clean(value) if type(value) is str else value


def cut(text: str) -> str:
    """Return the text, with the middle of a very long one omitted."""
    omitted = len(text) - _MAX_TEXT
    if omitted <= 0:
        return text
    half = _MAX_TEXT // 2
    note = f"[… {omitted:,} characters omitted; `manus show --full` prints them …]"
    return f"{text[:half]}\n\n{note}\n\n{text[-half:]}"


def _as_json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _short_date(when: datetime) -> str:
    return when.astimezone().strftime("%d %b %H:%M")


def _tokens(used: RoleUsage) -> str:
    input_text = f"{used['input_tokens']:,} in{formatting.cache_in_words(used)}"
    return f"{input_text}, {used['output_tokens']:,} out"


def state(run: TraceRun) -> tuple[str, str]:
    """Return the headline and tone (`good`, `bad`, `warn`, `live`, `quiet`) of a run."""
    if run.is_waiting:
        return WAITING.headline, "warn"
    if run.stop_reason is None and run.is_running:
        return "Running", "live"
    if run.stop_reason is None and not run.is_newest:
        return "Unfinished", "quiet"
    ending = get_ending(run.stop_reason, success=run.success)
    return ending.headline, ending.tone


def reason(run: TraceRun) -> str:
    """Return why the run ended, with its stop reason; empty for a run that has not ended."""
    stop_reason = "interrupted" if run.is_waiting else run.stop_reason
    if not stop_reason:
        return ""
    return f"{get_ending(stop_reason, success=run.success).why} ({stop_reason})"


def describe_answer(answer: Any) -> str:
    """Return the answer to a question in words for a person."""
    if not isinstance(answer, str):
        return _as_json(answer)
    return "Edited" if answer.startswith("edit") else DECISIONS.get(answer, answer)


def stage_name(stage: Stage) -> str:
    """Return the title of a stage with its number, without the tag of its executor."""
    if stage.index is None:
        return stage.title
    return f"{stage.index}. {_TAG.sub('', stage.title) or stage.title}"


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
