"""Results of the checks of `manus doctor`, and their output."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from manus.prompts.formatting import clean

State = Literal["ok", "warning", "missing"]

_WORD = {"ok": "ok     ", "warning": "note   ", "missing": "MISSING"}
_MARGIN = 18


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check; `remedy` describes how to fix a problem."""

    name: str
    state: State
    text: str
    remedy: str = ""


def print_findings(findings: list[CheckResult]) -> None:
    """Print the findings on stdout, wrapped on a terminal, and a verdict."""
    for finding in findings:
        label = f"{_WORD[finding.state]} {finding.name}"
        for line in _wrap(f"{clean(finding.text)}\n{clean(finding.remedy)}".rstrip()):
            sys.stdout.write(f"{label:<{_MARGIN}}{line}\n")
            label = ""
    missing = [finding.name for finding in findings if finding.state == "missing"]
    verdict = f"Not ready: {', '.join(missing)}." if missing else "Ready."
    sys.stdout.write(f"\n{verdict}\n")


def _wrap(text: str) -> Iterator[str]:
    """Yield the lines of a text, wrapped between words on a terminal."""
    if not sys.stdout.isatty():
        yield from text.splitlines()
        return
    room = max(20, shutil.get_terminal_size().columns - _MARGIN)
    for line in text.splitlines():
        yield from textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False)
