"""The page of a thread: one HTML file that asks nobody for anything."""

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

from manus.pages.report.edits import find_edit
from manus.pages.report.files import ChangedFile, find_changed_files
from manus.pages.report.prose import prose
from manus.pages.trace.model import Run, Stage
from manus.prompts import formatting
from manus.state.usage import RoleUsage, tokens_of

_FOLDER = Path(__file__).parent / "templates"
_LONGEST = 20_000
"""Characters of a text that stand in the page; of a longer one its beginning and its end."""
_THINNEST = 0.2
"""Share of the width, in percent, that the shortest bar has."""
_TAG = re.compile(r"^\[[\w-]+\]\s*")


class Clock:
    """The time of a run; it stands still while nothing was at work."""

    def __init__(self, run: Run) -> None:
        self._began = run.began or datetime.now(UTC)
        self._idle = run.idle
        self.length = max(self.seconds(run.ended), 0.001)
        """Seconds."""

    def seconds(self, when: datetime | None) -> float:
        """Seconds of work up to a moment; 0 where it is not known."""
        if when is None:
            return 0.0
        idle = ((min(when, end) - begin).total_seconds() for begin, end in self._idle)
        return max((when - self._began).total_seconds() - sum(max(one, 0) for one in idle), 0.0)

    def between(self, begin: datetime | None, end: datetime | None) -> float:
        """Seconds of work between two moments."""
        return max(self.seconds(end) - self.seconds(begin), 0.0)

    def place(self, when: datetime | None) -> float:
        """A moment's place between the beginning, 0, and the end, 1."""
        return min(self.seconds(when) / self.length, 1.0)

    def box(self, begin: datetime | None, end: datetime | None) -> tuple[float, float]:
        """Place and width of a bar in percent; it is never too thin to be seen."""
        left = 100 * self.place(begin)
        width = max(100 * self.place(end) - left, _THINNEST)
        return min(left, 100 - width), width

    @property
    def idle(self) -> list[tuple[float, float]]:
        """Where the clock stood still, and for how many seconds."""
        return [(self.place(b), (e - b).total_seconds()) for b, e in self._idle]


@dataclass(frozen=True, slots=True)
class RunReport:
    """A run, and the files that it left."""

    key: str
    """The run's place on the page."""
    run: Run
    clock: Clock
    files: list[ChangedFile]
    files_note: str


def page(thread_id: str, runs: Sequence[Run], *, place: str = "") -> str:
    """The page of a thread as text. Blocking: it looks at the files of the workspace.

    `place` is where the thread is stored, in words.
    """
    return render_page("page", thread_id, runs, place, is_live=False)[0]


def render_page(
    kind: str, thread_id: str, runs: Sequence[Run], place: str, *, is_live: bool = True, **more: Any
) -> tuple[str, str]:
    """A page of a thread and its content security policy. Blocking.

    `kind` names the template, and the style sheet and script that it adds to those of a report; a
    live page follows the thread.
    """
    style = asset("page.css")
    script = asset("page.js")
    if kind != "page":
        style = style + asset(f"{kind}.css")
        script = script + asset(f"{kind}.js")
    policy = _policy(style, script, is_live=is_live)
    known = {"kind": kind, "thread_id": thread_id, "place": place, "is_live": is_live, **more}
    known["runs"] = [RunReport(f"r{r.number}", r, Clock(r), *find_changed_files(r)) for r in runs]
    template = environment().get_template(f"{kind}.html")
    return template.render(known, style=style, script=script, policy=policy), policy


def _policy(style: str, script: str, *, is_live: bool) -> str:
    """The page's own style and script, images in it; where it is live, its own server too."""
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
    """A style sheet, or a script."""
    return Markup((_FOLDER / name).read_text("utf-8"))


@cache
def environment() -> Environment:
    """The templates. All texts are escaped, without control characters and hidden marks."""
    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        finalize=_shown,
    )
    for known in ("span", "moment", "first_line", "main_argument", "gist"):
        made.filters[known] = getattr(formatting, known)
    made.filters.update(cut=cut, prose=prose, size=decimal, counted=formatting.count)
    made.filters.update(json=_as_json, tokens=_tokens, total=tokens_of, edit=find_edit)
    made.globals.update(state=state, reason=reason, named=named, now=partial(datetime.now, UTC))
    return made


def _shown(value: Any) -> Any:
    if value is None:
        return ""
    return formatting.clean(value) if type(value) is str else value


def cut(words: str) -> str:
    """The text; of a very long one its beginning and its end."""
    left = len(words) - _LONGEST
    if left <= 0:
        return words
    half = _LONGEST // 2
    note = f"[… {left:,} characters are left out here; `manus show --full` has them …]"
    return f"{words[:half]}\n\n{note}\n\n{words[-half:]}"


def _as_json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _tokens(used: RoleUsage) -> str:
    given = f"{used['input_tokens']:,} in{formatting.cache_in_words(used)}"
    return f"{given}, {used['output_tokens']:,} out"


def state(run: Run) -> tuple[str, str]:
    """The state of a run in a few words, and its tone: `good`, `bad`, `warn`, `live`, `quiet`."""
    if run.is_waiting:
        return formatting.ENDINGS["interrupted"].headline, "warn"
    if run.stop_reason is None and run.is_running:
        return "Running", "live"
    if run.stop_reason is None and not run.is_newest:
        return "Left unfinished", "quiet"
    ending = formatting.ending_of(run.stop_reason, success=run.success)
    return ending.headline, ending.tone


def reason(run: Run) -> str:
    """Why it ended, with the name that the state has for it; empty while it has not."""
    found = "interrupted" if run.is_waiting else run.stop_reason
    return f"{formatting.ending_of(found, success=run.success).why} ({found})" if found else ""


def named(stage: Stage) -> str:
    """A stage with its number, without the tag that names its executor."""
    if stage.index is None:
        return stage.title
    return f"{stage.index}. {_TAG.sub('', stage.title) or stage.title}"
