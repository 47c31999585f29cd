"""Files that steps of a flow change while they are at work side by side.

A program can read a file, and write it after another step has changed it: that change is lost, and
neither step would know. So each call of such a step is followed by a look at what has changed in
the workspace. Every version of a file is known by its hash and by the step that left it. A step
learns of the versions of others in the observation of its next call.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from manus.execution.approval import Call
from manus.execution.base import AgentTool
from manus.execution.changed_files import changed_since, next_tick
from manus.execution.result import Observation
from manus.execution.safe_open import open_file
from manus.prompts import flow as prompts

_LARGE = 16 * 2**20
"""Bytes; a larger file is known by its size and time instead of its hash."""
_MOST_CHANGED = 200
"""Files that are looked at after a call; of more, those that are known or named."""
_MOST_TEXT = 20_000
"""Characters of an observation in which names of files are looked for."""
_NAMES = (re.compile(r"[\w.-]+"), re.compile(r"[\w.-]+", re.ASCII))
_CODE_WRITES = re.compile(
    r"""\bwrite[\w.]*\s*\( | \bdump\s*\( | \bsave\w*\s*\( | \.to_[a-z]+\s*\(
    | \bopen\s*\([^)]*,\s*(?:mode\s*=\s*)?["'][^"']*[wax+]
    | \bos\.(?:replace|rename|remove|truncate)\b | \bshutil\.
    """,
    re.VERBOSE,
)
"""What tells that a program writes files: any of those that it names."""
_COMMAND_WRITES = re.compile(
    r"^\s*(?:sudo\s+)?(?:tee|mv|cp|ln|rm|touch|truncate|dd|patch|install|(?:sed|perl)\s.*-\w*i)\b"
)
_COMMAND_END = re.compile(r"[;&|\n]+")
_REDIRECTED = re.compile(r">\s*[\"']?([^\s\"';&|<>]+)")


@dataclass(frozen=True, slots=True)
class Version:
    """What a step has left of a file."""

    fingerprint: str
    step: StepFiles
    number: int
    """In the order in which versions were found."""


class SharedFiles:
    """The versions that the steps of one flow have left of the files in their workspace."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.versions: dict[str, list[Version]] = {}
        self.newest = 0
        """Number of the newest version."""
        self._steps: dict[str, StepFiles] = {}

    def of_step(self, space: str, title: str) -> StepFiles:
        """Return the files of the step whose executor runs in this checkpoint namespace."""
        if space not in self._steps:
            step = StepFiles(self, title)
            step.known = self.newest
            self._steps[space] = step
        return self._steps[space]

    def rivals_of(self, step: StepFiles, changed_at: int) -> list[StepFiles]:
        """Return the other steps with a call under way that began before a file was changed."""
        others = (other for other in self._steps.values() if other is not step)
        return [other for other in others if any(began <= changed_at for began in other.calls)]

    def add(self, path: str, fingerprint: str, step: StepFiles) -> None:
        """Note a new version of a file."""
        self.newest += 1
        version = Version(fingerprint, step, self.newest)
        self.versions.setdefault(path, []).append(version)

    def is_newest(self, path: str, fingerprint: str) -> bool:
        """Return whether this is the newest known version of a file."""
        versions = self.versions.get(path, [])
        return bool(versions) and versions[-1].fingerprint == fingerprint


@dataclass(eq=False, slots=True)
class StepFiles:
    """What one step knows of the files; watches its calls."""

    shared: SharedFiles
    title: str
    calls: list[int] = field(default_factory=list)
    """When each of its calls began that are under way, in nanoseconds."""
    known: int = 0
    """Number of the newest version when it was last told."""
    conflicts: dict[str, set[str]] = field(default_factory=dict)
    """Files that other steps have changed at the same time, each with the titles of these steps."""
    _names: set[str] = field(default_factory=set)
    """All words in its calls and their observations that may be names of files."""
    _written: set[str] = field(default_factory=set)
    """Those of them that its calls seem to write."""
    _expected: dict[str, str] = field(default_factory=dict)
    """Fingerprints of files when it was set aside."""

    def start(self, text: str, expected: Mapping[str, str]) -> None:
        """Begin, or resume, with the step's text and the files as they were when it stopped."""
        self._names |= _names_in(text)
        self._expected = dict(expected)

    async def watch(
        self, call: Call, carry_out: Callable[[], Awaitable[Observation]]
    ) -> Observation:
        """Carry out a call; append to its observation what other steps have changed."""
        began, newest = await next_tick(), self.shared.newest
        self._take_names(call.args)
        self.calls.append(began)
        try:
            observation = await carry_out()
            self._names |= _names_in(observation.text[:_MOST_TEXT])
            changed: dict[str, _Change] = {}
            if not call.read_only:
                changed = await asyncio.to_thread(self._changed_since, began)
            moved = await asyncio.to_thread(self._moved)
            own = self._add_versions(changed)
        finally:
            self.calls.remove(began)
        conflicts, news = self._compare(changed, own, newest, builds_on=_builds_on_file(call))
        news += [path for path in moved if path not in {*conflicts, *own, *news}]
        notes = [prompts.changed_by_both(path, titles) for path, titles in conflicts.items()]
        notes += [prompts.changed_meanwhile(path) for path in news]
        if not notes:
            return observation
        return replace(observation, text="\n\n".join([observation.text, *notes]))

    def _take_names(self, args: Mapping[str, object]) -> None:
        """Keep the names of files in the arguments of a call."""
        for value in args.values():
            text = str(value)
            self._names |= _names_in(text)
            self._written |= names_written_in(text)

    def names(self, path: str) -> bool:
        """Return whether its calls or their observations name a file."""
        return PurePath(path).name in self._names

    def seems_to_write(self, path: str) -> bool:
        """Return whether its calls seem to write a file."""
        return PurePath(path).name in self._written

    def _changed_since(self, began: int) -> dict[str, _Change]:
        """Return the files that were changed since a moment. Blocking."""
        paths = changed_since(self.shared.root, began)
        if len(paths) > _MOST_CHANGED:
            paths = [path for path in paths if path in self.shared.versions or self.names(path)]
        changed = {}
        for path in paths[:_MOST_CHANGED]:
            fingerprint = fingerprint_of(self.shared.root / path)
            if fingerprint:
                changed_at = (self.shared.root / path).lstat().st_ctime_ns
                changed[path] = _Change(fingerprint, changed_at)
        return changed

    def _moved(self) -> list[str]:
        """Return the files that are not as they were when the step was set aside. Blocking."""
        expected, self._expected = self._expected, {}
        root = self.shared.root
        return [path for path, known in expected.items() if fingerprint_of(root / path) != known]

    def _add_versions(self, changed: Mapping[str, _Change]) -> set[str]:
        """Note what this step has changed, and return it.

        Where calls of other steps were under way too, it is the step that seems to write the file,
        or else names it.
        """
        own = set()
        for path, change in changed.items():
            if self.shared.is_newest(path, change.fingerprint):
                continue
            rivals = self.shared.rivals_of(self, change.at)
            is_own = not rivals or self.seems_to_write(path)
            if not is_own and not any(rival.seems_to_write(path) for rival in rivals):
                is_own = self.names(path)
            if is_own:
                self.shared.add(path, change.fingerprint, self)
                own.add(path)
        return own

    def _compare(
        self, changed: Mapping[str, _Change], own: Iterable[str], newest: int, *, builds_on: bool
    ) -> tuple[dict[str, list[str]], list[str]]:
        """Return the conflicts with other steps, and other news of files that this step names.

        A conflict is a file that this call has changed, or may have changed, on top of a version
        that the step did not know of. `newest` is the number of the newest version when the call
        began; `builds_on`: it started from what the file held then.
        """
        conflicts: dict[str, list[str]] = {}
        news = []
        for path, versions in self.shared.versions.items():
            unknown = [v for v in versions if v.number > self.known and v.step is not self]
            during = [v for v in unknown if v.number > newest]
            if path in own:
                lost = during if builds_on else unknown
            else:
                lost = during if path in changed and self.seems_to_write(path) else []
            if lost:
                conflicts[path] = sorted({version.step.title for version in lost})
                self.conflicts.setdefault(path, set()).update(conflicts[path])
            elif unknown and path not in own and self.names(path):
                news.append(path)
        self.known = self.shared.newest
        return conflicts, news


@dataclass(frozen=True, slots=True)
class _Change:
    fingerprint: str
    at: int
    """Nanoseconds since 1970."""


def fingerprint_of(path: Path) -> str:
    """Return the hash of a file; empty if there is no such regular file. Blocking."""
    try:
        with open_file(path) as file:
            status = path.lstat()
            if status.st_size > _LARGE:
                return f"{status.st_size} bytes at {status.st_mtime_ns}"
            return hashlib.blake2b(file.read(_LARGE), digest_size=16).hexdigest()
    except OSError:
        return ""


def fingerprints_of(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Return the hash of each file. Blocking."""
    return {path: fingerprint_of(root / path) for path in paths}


def _names_in(text: str) -> set[str]:
    """Return the words of a text that may be names of files, in any script and in ASCII."""
    words = itertools.chain.from_iterable(pattern.findall(text) for pattern in _NAMES)
    return {word.strip(".") for word in words}


def names_written_in(text: str) -> set[str]:
    """Return the names of files that a program or a shell command seems to write."""
    if _CODE_WRITES.search(text):
        return _names_in(text)
    written = {PurePath(path).name for path in _REDIRECTED.findall(text)}
    for command in _COMMAND_END.split(text):
        if _COMMAND_WRITES.match(command):
            written |= _names_in(command)
    return written


def _builds_on_file(call: Call) -> bool:
    return isinstance(call.tool, AgentTool) and call.tool.builds_on_file(call.args)
