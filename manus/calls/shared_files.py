"""Detect conflicting changes of files by concurrent steps of a flow.

A program can read a file, and write it after another step has changed it: that change is lost (a
race condition), and neither step would notice. So the changed files in the workspace are hashed
after each call. A version of a file is identified by its hash and the step that wrote it. A step is
informed about versions of other steps in the observation of its next call.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from manus.calls.approval import Call
from manus.calls.base import AgentTool
from manus.calls.changed_files import changed_since, next_tick
from manus.calls.result import Observation
from manus.prompts import flow as prompts
from manus.workspace.safe_open import open_file

_MAX_HASHED = 16 * 2**20
"""Size in bytes above which a file is identified by its size and time instead of its hash."""
_MAX_CHANGED = 200
"""Maximum number of files checked after a call; beyond it, only those with versions or named."""
_MAX_TEXT = 20_000
"""Maximum number of characters of an observation that are searched for file names."""
_NAMES = (re.compile(r"[\w.-]+"), re.compile(r"[\w.-]+", re.ASCII))
_CODE_WRITES = re.compile(
    r"""\bwrite[\w.]*\s*\( | \bdump\s*\( | \bsave\w*\s*\( | \.to_[a-z]+\s*\(
    | \bopen\s*\([^)]*,\s*(?:mode\s*=\s*)?["'][^"']*[wax+]
    | \bos\.(?:replace|rename|remove|truncate)\b | \bshutil\.
    """,
    re.VERBOSE,
)
"""Patterns of code that writes files, possibly any file that it names."""
_COMMAND_WRITES = re.compile(
    r"^\s*(?:sudo\s+)?(?:tee|mv|cp|ln|rm|touch|truncate|dd|patch|install|(?:sed|perl)\s.*-\w*i)\b"
)
_COMMAND_END = re.compile(r"[;&|\n]+")
_REDIRECTED = re.compile(r">\s*[\"']?([^\s\"';&|<>]+)")


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a file that a step has written."""

    fingerprint: str
    step: StepFiles
    number: int
    """In order of discovery."""


class SharedFiles:
    """The versions of files in the workspace that the steps of one flow have written."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.versions: dict[str, list[Version]] = {}
        self.newest = 0
        """Number of the newest version."""
        self._steps: dict[str, StepFiles] = {}

    def get_step_files(self, space: str, title: str) -> StepFiles:
        """Return the files of the step whose executor runs in this checkpoint namespace."""
        if space not in self._steps:
            step = StepFiles(self, title)
            step.last_seen = self.newest
            self._steps[space] = step
        return self._steps[space]

    def find_rivals(self, step: StepFiles, changed_at: int) -> list[StepFiles]:
        """Return the other steps with a running call that started before a file was changed."""
        candidates = (other for other in self._steps.values() if other is not step)
        return [
            other
            for other in candidates
            if any(started_at <= changed_at for started_at in other.calls)
        ]

    def add(self, path: str, fingerprint: str, step: StepFiles) -> None:
        """Record a new version of a file."""
        self.newest += 1
        version = Version(fingerprint, step, self.newest)
        self.versions.setdefault(path, []).append(version)

    def is_newest(self, path: str, fingerprint: str) -> bool:
        """Return whether this is the newest recorded version of a file."""
        versions = self.versions.get(path, [])
        return bool(versions) and versions[-1].fingerprint == fingerprint


@dataclass(eq=False, slots=True)
class StepFiles:
    """The versions of files that one step has seen; it watches the step's calls."""

    shared: SharedFiles
    title: str
    calls: list[int] = field(default_factory=list)
    """Start times of its running calls, in nanoseconds."""
    last_seen: int = 0
    """Number of the newest version that the step was informed about."""
    conflicts: dict[str, set[str]] = field(default_factory=dict)
    """Files changed concurrently by other steps, with the titles of these steps."""
    _names: set[str] = field(default_factory=set)
    """All words in its calls and observations that may be file names."""
    _written_names: set[str] = field(default_factory=set)
    """Names of files that its calls seem to write."""
    _expected: dict[str, str] = field(default_factory=dict)
    """Fingerprints of files when the step was paused."""

    def start(self, text: str, expected: Mapping[str, str]) -> None:
        """Start or resume, with the step's text and the fingerprints of files when it stopped."""
        self._names |= _names_in(text)
        self._expected = dict(expected)

    async def watch(
        self, call: Call, carry_out: Callable[[], Awaitable[Observation]]
    ) -> Observation:
        """Execute a call; append the changes of other steps to its observation."""
        started_at = await next_tick()
        newest = self.shared.newest
        self._take_names(call.args)
        self.calls.append(started_at)
        try:
            observation = await carry_out()
            self._names |= _names_in(observation.text[:_MAX_TEXT])
            changed: dict[str, _FileChange] = {}
            if not call.read_only:
                changed = await asyncio.to_thread(self._changed_since, started_at)
            changed_before = await asyncio.to_thread(self._find_changed_while_paused)
            own = self._add_versions(changed)
        finally:
            self.calls.remove(started_at)
        conflicts, news = self._compare(changed, own, newest, builds_on=_builds_on_file(call))
        news += [path for path in changed_before if path not in {*conflicts, *own, *news}]
        notes = [prompts.changed_by_both(path, titles) for path, titles in conflicts.items()]
        notes += [prompts.changed_meanwhile(path) for path in news]
        if not notes:
            return observation
        return replace(observation, text="\n\n".join([observation.text, *notes]))

    def _take_names(self, args: Mapping[str, object]) -> None:
        """Collect the names of files in the arguments of a call."""
        for value in args.values():
            text = str(value)
            self._names |= _names_in(text)
            self._written_names |= names_written_in(text)

    def names(self, path: str) -> bool:
        """Return whether its calls or observations name a file."""
        return PurePath(path).name in self._names

    def seems_to_write(self, path: str) -> bool:
        """Return whether its calls seem to write a file."""
        return PurePath(path).name in self._written_names

    def _changed_since(self, since: int) -> dict[str, _FileChange]:
        """Return the files changed since a time in nanoseconds. Blocking."""
        paths = changed_since(self.shared.root, since)
        if len(paths) > _MAX_CHANGED:
            paths = [path for path in paths if path in self.shared.versions or self.names(path)]
        changed = {}
        for path in paths[:_MAX_CHANGED]:
            fingerprint = hash_file(self.shared.root / path)
            with contextlib.suppress(OSError):  # it has just been deleted
                changed_at = (self.shared.root / path).lstat().st_ctime_ns
                if fingerprint:
                    changed[path] = _FileChange(fingerprint, changed_at)
        return changed

    def _find_changed_while_paused(self) -> list[str]:
        """Return the files that changed while the step was paused. Blocking."""
        expected = self._expected
        self._expected = {}
        root = self.shared.root
        return [
            path for path, fingerprint in expected.items() if hash_file(root / path) != fingerprint
        ]

    def _add_versions(self, changed: Mapping[str, _FileChange]) -> set[str]:
        """Record the files that this step has changed, and return them.

        If calls of other steps were running too, a change is attributed to the step that seems to
        write the file, or otherwise to one that names it.
        """
        own = set()
        for path, change in changed.items():
            if self.shared.is_newest(path, change.fingerprint):
                continue
            rivals = self.shared.find_rivals(self, change.at)
            is_own = not rivals or self.seems_to_write(path)
            if not is_own and not any(rival.seems_to_write(path) for rival in rivals):
                is_own = self.names(path)
            if is_own:
                self.shared.add(path, change.fingerprint, self)
                own.add(path)
        return own

    def _compare(
        self,
        changed: Mapping[str, _FileChange],
        own: Iterable[str],
        newest: int,
        *,
        builds_on: bool,
    ) -> tuple[dict[str, list[str]], list[str]]:
        """Return the conflicts with other steps, and other changes of files that this step names.

        A conflict is a file that this call has changed, or may have changed, on top of a version
        that the step had not seen. `newest` is the number of the newest version when the call
        started; `builds_on`: the call started from that content.
        """
        conflicts: dict[str, list[str]] = {}
        news = []
        for path, versions in self.shared.versions.items():
            unknown = [v for v in versions if v.number > self.last_seen and v.step is not self]
            during = [v for v in unknown if v.number > newest]
            if path in own:
                overwritten = during if builds_on else unknown
            else:
                overwritten = during if path in changed and self.seems_to_write(path) else []
            if overwritten:
                conflicts[path] = sorted({version.step.title for version in overwritten})
                self.conflicts.setdefault(path, set()).update(conflicts[path])
            elif unknown and path not in own and self.names(path):
                news.append(path)
        self.last_seen = self.shared.newest
        return conflicts, news


@dataclass(frozen=True, slots=True)
class _FileChange:
    fingerprint: str
    at: int
    """Nanoseconds since 1970."""


def hash_file(path: Path) -> str:
    """Return the hash of a file; empty if there is no such regular file. Blocking."""
    try:
        with open_file(path) as file:
            status = path.lstat()
            if status.st_size > _MAX_HASHED:
                return f"{status.st_size} bytes at {status.st_mtime_ns}"
            return hashlib.blake2b(file.read(_MAX_HASHED), digest_size=16).hexdigest()
    except OSError:
        return ""


def hash_files(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Return the hash of each file. Blocking."""
    return {path: hash_file(root / path) for path in paths}


def _names_in(text: str) -> set[str]:
    """Return the words of a text that may be file names, in any script and in ASCII."""
    words = itertools.chain.from_iterable(pattern.findall(text) for pattern in _NAMES)
    return {word.strip(".") for word in words}


def names_written_in(text: str) -> set[str]:
    """Return the names of files that a program or a shell command seems to write."""
    if _CODE_WRITES.search(text):
        return _names_in(text)
    names = {PurePath(path).name for path in _REDIRECTED.findall(text)}
    for command in _COMMAND_END.split(text):
        if _COMMAND_WRITES.match(command):
            names |= _names_in(command)
    return names


def _builds_on_file(call: Call) -> bool:
    return (
        isinstance(call.tool, AgentTool) and call.args.get("command") in call.tool.editing_commands
    )
