"""What was found of one thing that a run needs, and how it is printed."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal

from manus.prompts.formatting import clean

State = Literal["ok", "warning", "missing"]

_WORD = {"ok": "ok     ", "warning": "note   ", "missing": "MISSING"}
_MARGIN = 18


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one thing; `remedy` says what to do where it is not as it should be."""

    name: str
    state: State
    text: str
    remedy: str = ""


def print_findings(findings: list[Finding]) -> None:
    """One line each on stdout, and a verdict."""
    for finding in findings:
        label = f"{_WORD[finding.state]} {finding.name}"
        for line in f"{clean(finding.text)}\n{clean(finding.remedy)}".rstrip().splitlines():
            sys.stdout.write(f"{label:<{_MARGIN}}{line}\n")
            label = ""
    missing = [finding.name for finding in findings if finding.state == "missing"]
    sys.stdout.write(f"\nNot ready: {', '.join(missing)}.\n" if missing else "\nReady.\n")
