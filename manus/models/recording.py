"""Record the model's turns of a run, and replay them.

A recording is a file of JSON lines, one per model turn. Only the turns are recorded; graph, tools
and files are real in a replay. A turn is found by its conversation (the history without system and
next-step prompt), normalized so that values that differ from run to run are replaced: ids, the path
of the workspace, durations, addresses, dates. For a conversation that is not in the recording, the
error shows the first message that differs.
"""

from __future__ import annotations

import json
import os
import re
import threading
import weakref
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

from manus.config.provider_table import DEFAULT_KEY
from manus.models.reasoning import REASONING
from manus.models.tool_calls import as_raw_call, with_calls
from manus.state.errors import ReplayMismatchError, SettingsError, StorageError
from manus.state.messages import DESCRIPTION, has_calls, is_ephemeral, list_calls
from manus.state.text import one_line

Turn = dict[str, Any]

_WORKSPACE = "<workspace>"
_VARIABLE_VALUES = [
    (re.compile(r"\b\d+(\.\d+)?\s?(ms|s|sec|seconds?)\b"), "<time>"),
    (re.compile(r"0x[0-9a-fA-F]{4,}"), "<address>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?"), "<date>"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<id>"),
]
_EXCERPT = 300
"""Characters of a differing message in an error, starting a few before the first difference."""
_BEFORE = 40


def normalize_messages(messages: Sequence[BaseMessage], workspace: str) -> list[Turn]:
    """Return the conversation of a request without values that differ from run to run."""
    return [
        normalize_message(message, workspace)
        for message in messages
        if not isinstance(message, SystemMessage) and not is_ephemeral(message)
    ]


def normalize_message(message: BaseMessage, workspace: str) -> Turn:
    """Return one message without values that differ from run to run."""
    # the description of a tool, like the schemas of a request, is not part of the conversation
    text = str(message.text).removesuffix(message.additional_kwargs.get(DESCRIPTION, ""))
    turn: Turn = {"role": message.type, "text": _normalize_text(text, workspace)}
    if isinstance(message, AIMessage) and has_calls(message):
        calls = [{"name": call["name"], "args": call["args"]} for call in list_calls(message)]
        turn["calls"] = json.loads(_normalize_text(json.dumps(calls), workspace))
    if isinstance(message, ToolMessage):
        turn["name"] = message.name
    return turn


def _normalize_text(text: str, workspace: str) -> str:
    text = _replace_path(text, workspace, _WORKSPACE)
    for pattern, placeholder in _VARIABLE_VALUES:
        text = pattern.sub(placeholder, text)
    return text


def _replace_path(text: str, old: str, new: str) -> str:
    """Return the text with a path replaced, also in `/a/b` for the path `/a`, but not in `/ab`."""
    return re.sub(re.escape(old) + r"(?![\w-])", lambda _: new, text)


def _move_turn(turn: Turn, old: str, new: str) -> Turn:
    """Return the turn with the path of the workspace replaced."""
    # paths as they appear inside a JSON string
    old, new = (json.dumps(path, ensure_ascii=False)[1:-1] for path in (old, new))
    moved: Turn = json.loads(_replace_path(_dump(turn), old, new))
    return moved


def encode_reply(reply: AIMessage, workspace: str) -> Turn:
    """Return a reply as recorded: text, calls, usage, finish reason and readable reasoning.

    The arguments of a malformed call are recorded as text.
    """
    calls = [{"name": c["name"], "args": c["args"], "id": c["id"]} for c in list_calls(reply)]
    turn: Turn = {"text": str(reply.text), "calls": calls}
    optional_fields = {
        "usage": reply.usage_metadata,
        "finish_reason": reply.response_metadata.get("finish_reason"),
        "thought": reply.additional_kwargs.get(REASONING),
    }
    for name, value in optional_fields.items():
        if value:
            turn[name] = value
    return _move_turn(turn, workspace, _WORKSPACE)


def decode_reply(recorded: Turn, workspace: str) -> AIMessage:
    """Return a recorded reply with the path of this workspace in it."""
    turn = _move_turn(recorded, _WORKSPACE, workspace)
    message = AIMessage(content=turn["text"], usage_metadata=turn.get("usage"))
    if turn.get("thought"):
        message.additional_kwargs[REASONING] = turn["thought"]
    if turn.get("finish_reason"):
        message.response_metadata["finish_reason"] = turn["finish_reason"]
    return with_calls(message, [as_raw_call(call) for call in turn["calls"]])


class Recorder:
    """Writer that appends a run's model turns to a file.

    A turn contains only the messages after those of the turn that it follows, so that the file
    grows linearly with the run.
    """

    def __init__(self, path: str | Path, workspace: str) -> None:
        self._path = Path(path)
        self._workspace = workspace
        self._turns: list[list[Turn]] = []
        self._lock = threading.Lock()
        self._descriptor = -1
        """The open file: a program of the run could replace its path by a link."""

    def start(self) -> None:
        """Create or truncate the file. Blocking.

        Raises:
            SettingsError: the file cannot be written.
        """
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
            # private: it contains the whole conversation
            self._descriptor = os.open(self._path, flags | os.O_NOFOLLOW, 0o600)
            weakref.finalize(self, os.close, self._descriptor)
        except OSError as error:
            raise SettingsError(self._explain_error(error)) from None

    def add(self, role: str, request: Sequence[BaseMessage], reply: AIMessage) -> None:
        """Append one turn. Blocking and thread-safe: parallel steps of a plan share a recorder.

        Raises:
            StorageError: the file cannot be written.
        """
        conversation = normalize_messages(request, self._workspace)
        with self._lock:
            line: Turn = {"role": role, "after": None, "messages": conversation}
            for index, turn in enumerate(self._turns):
                if conversation[: len(turn)] == turn:
                    line |= {"after": index, "messages": conversation[len(turn) :]}
            line["reply"] = encode_reply(reply, self._workspace)
            try:
                with open(self._descriptor, "ab", closefd=False) as handle:
                    handle.write(f"{_dump(line)}\n".encode("utf-8", "surrogatepass"))
            except OSError as error:
                raise StorageError(self._explain_error(error)) from None
            self._turns.append([*conversation, normalize_message(reply, self._workspace)])

    def _explain_error(self, error: OSError) -> str:
        return f"Cannot write the recording {self._path}: {error.strerror}."


class ReplayModel(BaseChatModel):
    """Chat model that replays a recording; it finds each reply by the conversation."""

    path: str
    workspace: str
    _conversations: list[list[Turn]] = PrivateAttr(default_factory=list)
    _replies: list[Turn] = PrivateAttr(default_factory=list)
    _played: set[int] = PrivateAttr(default_factory=set)

    @classmethod
    def load(cls, path: str, workspace: str) -> Self:
        """Read a recording. Blocking.

        Raises:
            SettingsError: the file cannot be read, or is not a recording.
        """
        model = cls(path=path, workspace=workspace)
        try:
            for line in Path(path).read_text("utf-8").split("\n")[:-1]:
                model._add(json.loads(line))  # an unfinished last line is ignored
        except OSError as error:
            raise SettingsError(f"Cannot read the recording {path}: {error.strerror}.") from None
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise SettingsError(f"{path} is not a recording of model turns ({error}).") from None
        return model

    def _add(self, line: Turn) -> None:
        after = line["after"]
        before = []
        if after is not None:
            reply = decode_reply(self._replies[after], self.workspace)
            before = [*self._conversations[after], normalize_message(reply, self.workspace)]
        self._conversations.append([*before, *line["messages"]])
        self._replies.append(line["reply"])

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the reply; several replies to one conversation are played in order.

        After that, the last one is repeated.

        Raises:
            ReplayMismatchError: the conversation is not in the recording.
        """
        conversation = normalize_messages(messages, self.workspace)
        indexes = self._find(conversation)
        if not indexes:
            raise ReplayMismatchError(self._explain_mismatch(conversation))
        index = next((index for index in indexes if index not in self._played), indexes[-1])
        self._played.add(index)
        return decode_reply(self._replies[index], self.workspace)

    @property
    def unplayed(self) -> int:
        """Number of recorded replies that have not been played."""
        return len(self._replies) - len(self._played)

    def take(self, messages: Sequence[BaseMessage]) -> AIMessage | None:
        """Return the next reply to a conversation; None if all that were recorded are played."""
        if not self.unplayed:
            return None
        indexes = self._find(normalize_messages(messages, self.workspace))
        index = next((index for index in indexes if index not in self._played), None)
        if index is None:
            return None
        self._played.add(index)
        return decode_reply(self._replies[index], self.workspace)

    def _find(self, conversation: list[Turn]) -> list[int]:
        """Return the indexes of the replies to a conversation, in order."""
        return [
            index for index, recorded in enumerate(self._conversations) if recorded == conversation
        ]

    def find_nearest(self, conversation: list[Turn]) -> list[Turn]:
        """Return the recorded conversation that starts with most of the same messages."""
        return max(
            self._conversations, key=lambda each: _common_length(each, conversation), default=[]
        )

    def _explain_mismatch(self, conversation: list[Turn]) -> str:
        if not self._conversations:
            return f"The recording {self.path} is empty."
        actual = [*map(_dump, conversation)]
        nearest = [*map(_dump, self.find_nearest(conversation))]
        same = _common_length(nearest, actual)
        differing = ["".join(texts[same : same + 1]) for texts in (actual, nearest)]
        start = max(0, _common_length(*differing) - _BEFORE)
        excerpts = [one_line(text[start:], _EXCERPT) for text in differing]
        return (
            f"The recording {self.path} does not contain this conversation; message {same + 1} of "
            f"{len(conversation)} is the first that differs: {excerpts[0]} "
            f"(recorded: {excerpts[1]}). "
            "A replay contains only what was recorded; anything else needs a model "
            f"({DEFAULT_KEY}, or MANUS_MODEL and MANUS_BASE_URL)."
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
            calls = enumerate(list_calls(reply))
            chunks = [tool_call_chunk(**as_raw_call(call), index=index) for index, call in calls]
            message = AIMessageChunk(
                content=reply.content,
                tool_call_chunks=chunks,
                additional_kwargs=reply.additional_kwargs,
                id=reply.id,
            )
            chunk = ChatGenerationChunk(message=message)
            await run_manager.on_llm_new_token(str(reply.text), chunk=chunk)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def _dump(turn: Turn) -> str:
    return json.dumps(turn, ensure_ascii=False)


def _common_length(first: Sequence[Turn | str], second: Sequence[Turn | str]) -> int:
    """Return the number of messages, or characters, that both start with."""
    length = 0
    while first[length : length + 1] == second[length : length + 1] and length < len(first):
        length += 1
    return length
