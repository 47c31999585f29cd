"""Safety settings: which calls need approval, the sandbox, hooks, and secrets by name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Literal
from urllib.parse import quote, quote_plus

from pydantic import BaseModel, Field, StringConstraints

from manus.state.errors import ToolError

ApproveMode = Literal["ask", "auto", "yolo", "refuse"]
Rule = Annotated[str, StringConstraints(pattern=r"^[\w*?-]+(\(.+\))?$")]

HookEvent = Literal["PreToolUse", "PostToolUse", "Stop", "Notification"]

_REFERENCE = re.compile(r"<secret:([\w-]+)>")
_HEAD = 16
"""Leading characters by which a truncated secret is recognized."""


class ApproveSettings(BaseModel, frozen=True, extra="forbid"):
    """Approval of tool calls. A rule is `TOOL` or `TOOL(PATTERN)`; `*` matches anything.

    The pattern is matched against the path of an edit, `ACTION HOST` of the browser, or each
    command of a shell line: `bash(git *)`, `str_replace_editor(.env*)`,
    `browser_use(upload_file *.example.org)`. `host(*.example.org)` matches everything that is sent
    to a host, `host(web-search)` searches, `host(mcp_NAME)` calls of an MCP server.
    """

    mode: ApproveMode = "auto"
    """`ask`: every call that modifies something needs approval; `auto`: only calls that leave the
    workspace or the sandbox; `yolo`: none. `refuse`, for unattended runs: calls that need approval
    in `auto` are refused, and listed at the end of the run. Environment: `MANUS_APPROVE`."""
    allow: tuple[Rule, ...] = ()
    """Calls that need no approval."""
    deny: tuple[Rule, ...] = ()
    """Calls that are refused in every mode; these rules override `allow`."""
    taint: Literal["untrusted", "all"] = "untrusted"
    """Which files of the workspace count as untrusted text: those of a folder that is not trusted,
    or all. What runs have written after untrusted text counts in any case."""


def matches(rule: str, tool: str, subject: str = "") -> bool:
    """Return whether a rule matches a call of a tool on a subject; `git *` also matches `git`."""
    name, _, rest = rule.partition("(")
    if not fnmatchcase(tool.lower(), name.lower()):
        return False
    pattern = rest.removesuffix(")")
    return not pattern or fnmatchcase(subject, pattern) or fnmatchcase(f"{subject} ", pattern)


def is_covered(rules: Iterable[str], tool: str, subjects: Iterable[str]) -> bool:
    """Return whether every subject of a call is matched by a rule."""
    rules = list(rules)

    def is_matched(subject: str) -> bool:
        return any(matches(rule, tool, subject) for rule in rules)

    return all(map(is_matched, list(subjects) or [""]))


class SandboxSettings(BaseModel, frozen=True, extra="forbid"):
    """The sandbox of a run."""

    kind: Literal["auto", "bubblewrap", "landlock", "none"] = "auto"
    """`auto`: the strongest that works on this machine; if none does, programs are refused.
    Environment: `MANUS_SANDBOX`."""
    network: Literal["off", "rules", "open"] = "rules"
    """Network access of programs: none, what `[egress]` allows, or everything."""
    read: tuple[str, ...] = ()
    """Additional files and folders that programs may read, such as a toolchain in your home."""
    memory_megabytes: int = Field(4_096, ge=64)
    """Memory of all programs of one call; checked four times a second, above it they are killed."""
    processes: int = Field(512, ge=16)
    """Concurrent processes of one call; above it they are killed."""
    file_megabytes: int = Field(16_000, ge=1)
    """Size of one file that a program writes."""


class HookSettings(BaseModel, frozen=True, extra="forbid"):
    """A command that an event starts, with a JSON object about the event on its stdin.

    Exit code 2 refuses a call (`PreToolUse`), or tells the model something about its result
    (`PostToolUse`): the command's output is the text.
    """

    event: HookEvent
    """`PreToolUse`, `PostToolUse`, `Stop` (the run has ended) or `Notification` (it asks)."""
    command: str = Field(min_length=1)
    """A command for the shell. With `sandbox = false`, a program and its arguments."""
    matcher: str = "*"
    """The tools that it is for: `bash`, `mcp_*`, `bash|python_execute`."""
    timeout: float = Field(60.0, gt=0, le=600)
    """Seconds."""
    sandbox: bool = True
    """Whether it runs in the sandbox of the run; `false` gives it the whole machine."""

    def applies(self, event: HookEvent, tool: str) -> bool:
        """Return whether the hook is for an event of a tool; a run's own events have no tool."""
        if event != self.event:
            return False
        patterns = self.matcher.split("|") if tool else ()
        return not patterns or any(fnmatchcase(tool, pattern.strip()) for pattern in patterns)


class SecretSettings(BaseModel, frozen=True, extra="forbid"):
    """A secret, used as `<secret:NAME>` in text that is typed into a page."""

    env: str = Field(min_length=1)
    """The environment variable with the value, which is never in a file."""
    host: str = Field(min_length=1)
    """The host whose pages, and those of its subdomains, may receive it."""


def names_in(text: str) -> list[str]:
    """Return the names of the secrets that a text refers to."""
    return _REFERENCE.findall(text)


def fill(text: str, secrets: Mapping[str, SecretSettings], host: str) -> str:
    """Return the text with the values of its secrets, for a page of this host.

    Raises:
        ToolError: the secret does not exist, it is for another host, or its variable is not set.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name not in secrets:
            names = ", ".join(secrets) or "none"
            raise ToolError(f"Secret `{name}` does not exist; available: {names}.")
        secret = secrets[name]
        if host != secret.host and not host.endswith(f".{secret.host}"):
            raise ToolError(f"The secret `{name}` is for {secret.host}, but this is {host}.")
        text = os.environ.get(secret.env)
        if not text:
            raise ToolError(f"The secret `{name}` is not set: {secret.env} is empty.")
        return text

    return _REFERENCE.sub(value, text)


def mask(text: str, secrets: Mapping[str, SecretSettings]) -> str:
    """Return the text with secret values, even truncated or URL-quoted, as `<secret:NAME>`."""
    for name, secret in secrets.items():
        value = os.environ.get(secret.env, "")
        for form in {value, quote(value, safe=""), quote_plus(value)} - {""}:
            rest = r"\S*" if len(form) > _HEAD else ""
            text = re.sub(re.escape(form[:_HEAD]) + rest, f"<secret:{name}>", text)
    return text
