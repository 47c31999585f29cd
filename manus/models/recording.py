"""Recording a model's turns, and a model that plays them.

A recording is a file of JSON lines, one a model turn. Only the turns are recorded; graph, tools
and files are real when it is played. A turn is found by its conversation (the history without
system and next-step prompt), in a normal form without what differs from run to run: ids, the
place of the workspace, durations, addresses, dates. A conversation that the recording does not hold
fails with the first message that differs.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import PrivateAttr

from manus.config.files import make_private_file
from manus.models.reasoning import REASONING
from manus.models.tool_calls import as_sent, with_calls
from manus.state.errors import ReplayMismatchError, SettingsError, StorageError
from manus.state.messages import calls_of, is_ephemeral
from manus.state.text import one_line

Turn = dict[str, Any]

_HERE = "<workspace>"
_VARIES = [
    (re.compile(r"\b\d+(\.\d+)?\s?(ms|s|sec|seconds?)\b"), "<time>"),
    (re.compile(r"0x[0-9a-fA-F]{4,}"), "<address>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?"), "<date>"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<id>"),
]
_SHOWN = 300
"""Characters of a message that differs, from a few before the first that does."""
_BEFORE = 40


def normal_form(messages: Sequence[BaseMessage], workspace: str) -> list[Turn]:
    """The conversation of a request, without what differs from run to run."""
    return [
        normal_turn(message, workspace)
        for message in messages
        if not isinstance(message, SystemMessage) and not is_ephemeral(message)
    ]


def normal_turn(message: BaseMessage, workspace: str) -> Turn:
    """One message without what differs from run to run."""
    turn: Turn = {"role": message.type, "text": _stable(str(message.text), workspace)}
    if isinstance(message, AIMessage) and (calls := calls_of(message)):
        bare = [{"name": call["name"], "args": call["args"]} for call in calls]
        turn["calls"] = json.loads(_stable(json.dumps(bare), workspace))
    if isinstance(message, ToolMessage):
        turn["name"] = message.name
    return turn


def _stable(text: str, workspace: str) -> str:
    text = _renamed(text, workspace, _HERE)
    for pattern, word in _VARIES:
        text = pattern.sub(word, text)
    return text


def _renamed(text: str, old: str, new: str) -> str:
    """The text with a place renamed; `/a` is not meant by `/ab`, but by `/a/b`."""
    return re.sub(re.escape(old) + r"(?![\w-])", lambda _: new, text)


def _moved(turn: Turn, old: str, new: str) -> Turn:
    """The turn with one place of the workspace replaced by another."""
    here, there = (json.dumps(place, ensure_ascii=False)[1:-1] for place in (old, new))
    moved: Turn = json.loads(_renamed(json.dumps(turn, ensure_ascii=False), here, there))
    return moved


def _as_turn(reply: AIMessage, workspace: str) -> Turn:
    """What of a reply is recorded: text, calls, usage, how it ended, and the words it thought.

    The arguments of a malformed call are recorded as the text that they are.
    """
    calls = [{"name": c["name"], "args": c["args"], "id": c["id"]} for c in calls_of(reply)]
    more = {
        "usage": reply.usage_metadata,
        "finish_reason": reply.response_metadata.get("finish_reason"),
        "thought": reply.additional_kwargs.get(REASONING),
    }
    turn = {"text": str(reply.text), "calls": calls, **{k: v for k, v in more.items() if v}}
    return _moved(turn, workspace, _HERE)


def _as_reply(recorded: Turn, workspace: str) -> AIMessage:
    """The reply that was recorded, as it would be said in this workspace."""
    turn = _moved(recorded, _HERE, workspace)
    reason = turn.get("finish_reason")
    thought = turn.get("thought")
    message = AIMessage(
        content=turn["text"],
        additional_kwargs={REASONING: thought} if thought else {},
        usage_metadata=turn.get("usage"),
        response_metadata={"finish_reason": reason} if reason else {},
    )
    return with_calls(message, [as_sent(call) for call in turn["calls"]])


class Recorder:
    """Appends a run's model turns to a file.

    A turn holds only the messages that came after the turn it follows, so that the file grows
    with the run and not with its square.
    """

    def __init__(self, path: str | Path, workspace: str) -> None:
        self._path = Path(path)
        self._workspace = workspace
        self._turns: list[list[Turn]] = []
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin a new file. Blocking.

        Raises:
            SettingsError: it cannot be written.
        """
        try:
            make_private_file(self._path)  # it holds all that was said
            self._path.write_text("", "utf-8")
        except OSError as error:
            raise SettingsError(self._unwritten(error)) from None

    def add(self, role: str, request: Sequence[BaseMessage], reply: AIMessage) -> None:
        """Append one turn. Blocking; steps of a plan at work side by side share a recorder.

        Raises:
            StorageError: the file cannot be written.
        """
        conversation = normal_form(request, self._workspace)
        with self._lock:
            places = range(len(self._turns) - 1, -1, -1)
            follows = (n for n in places if conversation[: len(self._turns[n])] == self._turns[n])
            after = next(follows, None)
            known = 0 if after is None else len(self._turns[after])
            line: Turn = {"role": role, "after": after, "messages": conversation[known:]}
            line["reply"] = _as_turn(reply, self._workspace)
            try:
                with self._path.open("a", encoding="utf-8") as handle:
                    handle.write(json.dumps(line, ensure_ascii=False) + "\n")
            except OSError as error:
                raise StorageError(self._unwritten(error)) from None
            self._turns.append([*conversation, normal_turn(reply, self._workspace)])

    def _unwritten(self, error: OSError) -> str:
        return f"The recording {self._path} cannot be written ({error.strerror})."


class ReplayModel(BaseChatModel):
    """Plays a recording: a scripted model, whose turns are found by the conversation."""

    path: str
    workspace: str
    _conversations: list[list[Turn]] = PrivateAttr(default_factory=list)
    _replies: list[Turn] = PrivateAttr(default_factory=list)
    _asked: set[int] = PrivateAttr(default_factory=set)

    @classmethod
    def load(cls, path: str, workspace: str) -> Self:
        """Read a recording. Blocking.

        Raises:
            SettingsError: there is none, or it is not a recording.
        """
        model = cls(path=path, workspace=workspace)
        try:
            for line in Path(path).read_text("utf-8").split("\n")[:-1]:
                model._add(json.loads(line))  # what follows was under way when its process died
        except OSError as error:
            raise SettingsError(
                f"The recording {path} cannot be read ({error.strerror})."
            ) from None
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise SettingsError(f"{path} is not a recording of model turns ({error}).") from None
        return model

    def _add(self, line: Turn) -> None:
        after = line["after"]
        before = []
        if after is not None:
            said = _as_reply(self._replies[after], self.workspace)
            before = [*self._conversations[after], normal_turn(said, self.workspace)]
        self._conversations.append([*before, *line["messages"]])
        self._replies.append(line["reply"])

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        """The reply. A conversation asked again has its replies in turn, then the last of them."""
        conversation = normal_form(messages, self.workspace)
        places = [n for n, known in enumerate(self._conversations) if known == conversation]
        if not places:
            raise ReplayMismatchError(self._difference(conversation))
        place = next((n for n in places if n not in self._asked), places[-1])
        self._asked.add(place)
        return _as_reply(self._replies[place], self.workspace)

    def _difference(self, conversation: list[Turn]) -> str:
        if not self._conversations:
            return f"The recording {self.path} is empty."
        nearest = max(self._conversations, key=lambda known: _common(known, conversation))
        same = _common(nearest, conversation)
        pair = [
            json.dumps(turns[same : same + 1], ensure_ascii=False)[1:-1]
            for turns in (nearest, conversation)
        ]
        begin = max(0, _common(*pair) - _BEFORE)
        recorded, present = (one_line(text[begin:], _SHOWN) for text in pair)
        return (
            f"The recording {self.path} does not hold this conversation; message {same + 1} of "
            f"{len(conversation)} is the first that differs: {present} (recorded: {recorded}). "
            "A recording answers only what was recorded; whatever else is asked needs a model "
            "(OPENAI_API_KEY, or MANUS_MODEL and MANUS_BASE_URL)."
        )

    @property
    def _llm_type(self) -> str:
        return "replay"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = self._next(messages)
        if run_manager is not None:
            reply.id = f"lc_run--{run_manager.run_id}"
            calls = [tool_call_chunk(**as_sent(c), index=i) for i, c in enumerate(calls_of(reply))]
            piece = AIMessageChunk(
                content=reply.content,
                tool_call_chunks=calls,
                additional_kwargs=reply.additional_kwargs,
                id=reply.id,
            )
            chunk = ChatGenerationChunk(message=piece)
            await run_manager.on_llm_new_token(str(reply.text), chunk=chunk)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def _common(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many messages, or characters, both begin with."""
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
