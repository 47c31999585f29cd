"""Figures and states in words."""

from __future__ import annotations

from datetime import datetime

from manus.run_report.facts import RunFacts, Tokens

_ENDS = {
    "terminated": "Finished",
    "answered": "Finished",
    "completed": "Finished",
    "max_steps": "Step limit reached",
    "budget": "Budget used up",
    "stuck": "Went round in circles",
    "error": "Failed",
    "plan_incomplete": "Not everything was done",
}
_REASONS = {
    "terminated": "the agent ended it",
    "answered": "the agent answered",
    "completed": "every step of the plan is done",
    "max_steps": "the step budget is used up",
    "budget": "a budget is used up",
    "stuck": "it did not leave the circle",
    "error": "the model could not be asked",
    "plan_incomplete": "parts of the plan were not done",
    "interrupted": "it waits for an answer",
}


def span(seconds: float) -> str:
    """A length of time: `12 ms`, `0.4 s`, `12 s`, `3 min 05 s`, `2 h 14 min`, `3 d 4 h`."""
    if seconds < 0.0995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86_400:
        return f"{whole // 3_600} h {whole % 3_600 // 60:02d} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3_600} h"


def offset(seconds: float) -> str:
    """A place on a clock that began at zero: `0:07`, `12:40`, `1:02:03`."""
    whole = int(seconds)
    if whole < 3_600:
        return f"{whole // 60}:{whole % 60:02d}"
    return f"{whole // 3_600}:{whole % 3_600 // 60:02d}:{whole % 60:02d}"


def size(count: int) -> str:
    """A number of bytes: `812 bytes`, `4.2 kB`, `1.3 MB`."""
    if count < 1_000:
        return f"{count} byte{'' if count == 1 else 's'}"
    if count < 999_500:
        return f"{count / 1_000:.1f} kB" if count < 99_500 else f"{count / 1_000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"


def short(number: float) -> str:
    """A count of tokens in few characters: `950`, `12.4k`, `1.2M`."""
    if number < 1_000:
        return f"{number:.0f}"
    if number < 999_500:
        return f"{number / 1_000:.1f}k" if number < 99_950 else f"{number / 1_000:.0f}k"
    return f"{number / 1_000_000:.1f}M"


def moment(when: datetime) -> str:
    """A date and time on this machine's clock, as people write it."""
    return when.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def tokens(used: Tokens) -> str:
    """Tokens in and out: `1,312 in, 402 out`."""
    said = f"{used.input:,} in, {used.output:,} out"
    said = f"{said}, {used.cached:,} cached" if used.cached else said
    return f"{said}, {used.written:,} written to the cache" if used.written else said


def state(run: RunFacts) -> tuple[str, str]:
    """The state of a run in a few words, and its tone: `good`, `bad`, `warn`, `live`, `quiet`."""
    if run.waits:
        return "Waits for an answer", "warn"
    reason = run.talk.stop_reason
    if reason is None:
        if run.is_running:
            return "Running", "live"
        if not run.is_newest:
            return "Left unfinished", "quiet"
        # of a run that the command line did not begin nobody knows whether it is at work
        return ("Stopped before its end" if run.is_ours else "Not finished"), "warn"
    said = _ENDS.get(reason, reason)
    if said == "Finished":
        return (said, "good") if run.talk.success else ("Finished without success", "bad")
    return said, "bad" if reason == "error" else "warn"


def reason(run: RunFacts) -> str:
    """Why it ended, with the name that the state has for it; empty while it has not."""
    found = "interrupted" if run.waits else run.talk.stop_reason
    if found is None:
        return ""
    return f"{_REASONS[found]} ({found})" if found in _REASONS else found
