"""Settings of safety: which calls a person is asked about, and the wall around programs."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

ApproveMode = Literal["ask", "auto", "yolo", "refuse"]
Rule = Annotated[str, StringConstraints(pattern=r"^[\w*?-]+(\(.+\))?$")]


class ApproveSettings(BaseModel, frozen=True, extra="forbid"):
    """Which calls wait for a person. A rule is `TOOL` or `TOOL(PATTERN)`; `*` stands for anything.

    The pattern fits the path of an edit, `ACTION HOST` of the browser, or each command of a shell
    line: `bash(git *)`, `str_replace_editor(.env*)`, `browser_use(upload_file *.example.org)`.
    `host(*.example.org)` is about whatever is sent to a host.
    """

    mode: ApproveMode = "auto"
    """`auto` asks about what leaves the workspace and the sandbox, `ask` about each call that
    changes something, `yolo` about nothing. `refuse` is for runs without a person: what `auto`
    would ask about is refused, the agent is told, and the end of the run lists it. Environment:
    `MANUS_APPROVE`."""
    allow: tuple[Rule, ...] = ()
    """Calls that need no question."""
    deny: tuple[Rule, ...] = ()
    """Calls that are refused without one, in every mode; they count before `allow`."""


def matches(rule: str, tool: str, subject: str = "") -> bool:
    """Whether a rule is about a call of a tool on a subject. `git *` is about `git` alone too."""
    name, _, rest = rule.partition("(")
    if not fnmatchcase(tool.lower(), name.lower()):
        return False
    pattern = rest.removesuffix(")")
    return not pattern or fnmatchcase(subject, pattern) or fnmatchcase(f"{subject} ", pattern)


def is_covered(rules: Iterable[str], tool: str, subjects: Iterable[str]) -> bool:
    """Whether the rules are about all that a call is about."""
    known = list(rules)
    return all(any(matches(r, tool, s) for r in known) for s in list(subjects) or [""])


class SandboxSettings(BaseModel, frozen=True, extra="forbid"):
    """The sandbox of a run."""

    kind: Literal["auto", "bubblewrap", "landlock", "none"] = "auto"
    """`auto` takes the strongest that works here, and refuses where none does. Environment:
    `MANUS_SANDBOX`."""
    network: Literal["off", "rules", "open"] = "rules"
    """What programs reach: nothing, what `[egress]` allows, or all that this machine does."""
    read: tuple[str, ...] = ()
    """Further files and folders that programs may read, such as a toolchain in your home."""
    memory_megabytes: int = Field(4_096, ge=64)
    """Of a call's programs together; looked at four times a second, and above it they are ended."""
    processes: int = Field(512, ge=16)
    """Of a call, at the same time; above it they are ended."""
    file_megabytes: int = Field(16_000, ge=1)
    """Of one file that a program writes."""
