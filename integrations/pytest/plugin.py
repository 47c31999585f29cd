"""Record the replies of a graph's models once, and replay them: the fixture `graph_recording`.

It is LangChain's cache of model replies for the time of a test, so the graph stays as it is. The
first message of a request that differs from the recorded one fails the test.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from manus.models.recording import Turn
    from manus.runs.replay import Difference

_RECORD = "--graph-record"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that records."""
    group = parser.getgroup("graph recording")
    group.addoption(
        _RECORD,
        action="store_true",
        help="Ask the models and record their replies in tests that use `graph_recording`; "
        "else the recorded replies are replayed.",
    )


class GraphRecording:
    """The recording of a test; `path` is its file."""

    def __init__(self, path: Path, folder: Path, *, is_new: bool) -> None:
        from manus.models.recording import Recorder, ReplayModel

        self.path = path
        self.difference: Difference | None = None
        self._folder = str(folder)
        self._recorder: Recorder | None = None
        self._replies = ReplayModel(path=str(path), workspace=self._folder)
        self._last: list[Turn] = []
        if is_new:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._recorder = Recorder(path, self._folder)
            self._recorder.start()
        else:
            self._replies = ReplayModel.load(str(path), self._folder)

    def lookup(self, prompt: str) -> list[Any] | None:
        """Return the recorded reply to a request; None while recording.

        Raises:
            ReplayMismatchError: the request differs from the recorded ones.
        """
        from langchain_core.outputs import ChatGeneration

        from manus.models.recording import normalize_messages
        from manus.state.errors import ReplayMismatchError

        if self._recorder is not None:
            return None
        messages = _read(prompt)
        self._last = normalize_messages(messages, self._folder)
        reply = self._replies.take(messages) if self.difference is None else None
        if reply is None:
            self._compare()
            raise ReplayMismatchError(self.difference.describe() if self.difference else "")
        return [ChatGeneration(message=reply)]

    def update(self, prompt: str, generations: Sequence[Any]) -> None:
        """Record a reply."""
        if self._recorder is not None:
            self._recorder.add("main", _read(prompt), generations[0].message)

    def check_end(self) -> None:
        """Record a difference if the graph has asked for fewer replies than were recorded."""
        from manus.runs.replay import Difference

        if self._recorder is None and self.difference is None and (left := self._replies.unplayed):
            now = f"The graph ended with {left} of the recorded replies left."
            step = self._count_steps() + 1 if self._last else 1
            self.difference = Difference(step, "end", "The graph went on.", now)

    def _compare(self) -> None:
        from manus.runs.replay import Difference, find_difference

        if self.difference is None:
            recorded = self._replies.find_nearest(self._last)
            again = "The same request is repeated more often than recorded."
            self.difference = find_difference(recorded, self._last) or Difference(
                self._count_steps(), "end", "The graph ended.", again
            )

    def _count_steps(self) -> int:
        """Return the number of steps up to the last request."""
        return 1 + [turn["role"] for turn in self._last].count("ai")


def _read(prompt: str) -> list[BaseMessage]:
    """Return the messages of a request as LangChain gives them to a cache.

    The system prompt is compared like a request.
    """
    from langchain_core.messages import ChatMessage, SystemMessage, messages_from_dict

    values = [message["kwargs"] for message in json.loads(prompt)]
    messages = messages_from_dict([{"type": value["type"], "data": value} for value in values])
    return [
        ChatMessage(role="system", content=message.content)
        if isinstance(message, SystemMessage)
        else message
        for message in messages
    ]


def _place(node: pytest.Item) -> Path:
    """Return the file of a test's recording, beside its module."""
    name = re.sub(r"[^\w.-]+", "-", node.nodeid.partition("::")[2]).strip("-")
    return node.path.parent / "recordings" / node.path.stem / f"{name}.jsonl"


def _never(*args: object, **kwargs: object) -> bool:
    return False


@pytest.fixture
def graph_recording(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[GraphRecording]:
    """Record the replies of all models of a test, or replay them.

    Paths below `tmp_path`, ids, times and durations may differ.
    """
    from langchain_core.caches import BaseCache
    from langchain_core.globals import get_llm_cache, set_llm_cache
    from langchain_core.language_models import BaseChatModel

    is_new = bool(request.config.getoption(_RECORD))
    path = _place(request.node)
    if not is_new and not path.exists():
        pytest.fail(f"There is no {path}: record it once with `pytest {_RECORD}`.", pytrace=False)
    recording = GraphRecording(path, tmp_path, is_new=is_new)

    class Cache(BaseCache):
        def lookup(self, prompt: str, llm_string: str) -> Any:
            return recording.lookup(prompt)

        def update(self, prompt: str, llm_string: str, return_val: Any) -> None:
            recording.update(prompt, return_val)

        def clear(self, **kwargs: Any) -> None:
            pass

    # a streamed reply would not be looked up in the cache
    monkeypatch.setattr(BaseChatModel, "_should_stream", _never)
    before = get_llm_cache()
    set_llm_cache(Cache())
    try:
        yield recording
    finally:
        set_llm_cache(before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test whose graph differs from the recorded one, whatever the graph made of it."""
    recording = getattr(item, "funcargs", {}).get("graph_recording")
    is_complete = False
    try:
        yield
        is_complete = True
    finally:
        if recording is not None:
            _report_difference(item, recording, is_complete=is_complete)


def _report_difference(item: pytest.Item, recording: GraphRecording, *, is_complete: bool) -> None:
    differs = recording.difference is not None
    recording.check_end()
    if recording.difference is None:
        return
    text = recording.difference.describe()
    if differs or is_complete:
        raise pytest.fail.Exception(text, pytrace=False) from None
    item.add_report_section("call", "graph recording", text)  # beside the test's own failure
