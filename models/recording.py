"""Recording a model's turns.

A recording is a file of JSON lines, one a model turn. Only the turns are recorded; graph, tools
and files are real when it is played. A turn is found by its conversation (the history without
system and next-step prompt), in a normal form without what differs from run to run: ids, the
place of the workspace, durations, addresses, dates.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.ai import UsageMetadata

from manus.models.reasoning import BESIDE, thought_blocks
from manus.models.tool_calls import as_sent, with_calls
from manus.state.errors import SettingsError, StorageError
from manus.state.files import make_private_file
from manus.state.messages import calls_of

Turn = dict[str, Any]

_HERE = "<workspace>"

_VARIES = [
    (re.compile(r"\b\d+(\.\d+)?\s?(ms|s|sec|seconds?)\b"), "<time>"),
    (re.compile(r"0x[0-9a-fA-F]{4,}"), "<address>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?"), "<date>"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<id>"),
]


def normal_form(messages: Sequence[BaseMessage], workspace: str) -> list[Turn]:
    """The conversation of a request, without what differs from run to run."""
    return [
        normal_turn(message, workspace)
        for message in messages
        if not isinstance(message, SystemMessage) and not is_ephemeral(message)
    ]


def ephemeral(text: str, images: Sequence[dict[str, Any]] = ()) -> HumanMessage:
    """A message that belongs to one request alone and never to the history.

    `images` are content blocks.
    """
    content: Any = [{"type": "text", "text": text}, *images] if images else text
    return HumanMessage(content, additional_kwargs={"ephemeral": True})


def is_ephemeral(message: BaseMessage) -> bool:
    """Whether a message belongs to one request alone."""
    return bool(message.additional_kwargs.get("ephemeral"))


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


def digest(conversation: Sequence[Turn]) -> str:
    """The name under which a conversation is found."""
    packed = json.dumps(conversation, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(packed.encode("utf-8", "surrogatepass")).hexdigest()


def encode_reply(reply: AIMessage, workspace: str) -> Turn:
    """What of a reply is recorded: text, calls, usage and how it ended.

    The arguments of a malformed call are recorded as the text that they are.
    """
    calls = [{"name": c["name"], "args": c["args"], "id": c["id"]} for c in calls_of(reply)]
    turn: Turn = {"text": str(reply.text), "calls": calls}
    if reply.usage_metadata:
        turn["usage"] = dict(reply.usage_metadata)
    if reason := reply.response_metadata.get("finish_reason"):
        turn["finish_reason"] = reason
    return {**_moved(turn, workspace, _HERE), **_thoughts_of(reply)}


def _thoughts_of(reply: AIMessage) -> Turn:
    """What the model thought, as it came: what is signed is not to be changed by a letter."""
    beside = {k: v for k, v in reply.additional_kwargs.items() if k in BESIDE}
    found: Turn = {"thoughts": beside, "blocks": thought_blocks(reply)}
    return {name: value for name, value in found.items() if value}


def _moved(turn: Turn, old: str, new: str) -> Turn:
    """The turn with one place of the workspace replaced by another."""
    packed = json.dumps(turn, ensure_ascii=False)
    here, there = (json.dumps(place, ensure_ascii=False)[1:-1] for place in (old, new))
    moved: Turn = json.loads(_renamed(packed, here, there))
    return moved


def _renamed(text: str, old: str, new: str) -> str:
    """The text with a place renamed; `/a` is not meant by `/ab`, but by `/a/b`."""
    return re.sub(re.escape(old) + r"(?![\w-])", lambda _: new, text)


def decode_reply(recorded: Turn, workspace: str) -> AIMessage:
    """The reply that was recorded, as it would be said in this workspace."""
    turn = _moved(recorded, _HERE, workspace)
    usage: UsageMetadata | None = turn.get("usage")
    reason = turn.get("finish_reason")
    before = recorded.get("blocks") or []
    said = [{"type": "text", "text": turn["text"]}] if turn["text"] else []
    message = AIMessage(
        content=[*before, *said] if before else turn["text"],
        additional_kwargs=recorded.get("thoughts") or {},
        usage_metadata=usage,
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
            raise SettingsError(
                f"The recording {self._path} cannot be written ({error.strerror})."
            ) from None

    def add(self, role: str, request: Sequence[BaseMessage], reply: AIMessage) -> None:
        """Append one turn. Blocking; steps of a plan at work side by side share a recorder.

        Raises:
            StorageError: the file cannot be written.
        """
        with self._lock:
            self._add(role, request, reply)

    def _add(self, role: str, request: Sequence[BaseMessage], reply: AIMessage) -> None:
        conversation = normal_form(request, self._workspace)
        after, known = self._longest(conversation)
        line: Turn = {"role": role, "after": after, "messages": conversation[known:]}
        line["reply"] = encode_reply(reply, self._workspace)
        try:
            with self._path.open("a", encoding="utf-8") as handle:
                handle.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            raise StorageError(
                f"The recording {self._path} cannot be written ({error.strerror})."
            ) from None
        self._turns.append([*conversation, normal_turn(reply, self._workspace)])

    def _longest(self, conversation: list[Turn]) -> tuple[int | None, int]:
        for place in range(len(self._turns) - 1, -1, -1):
            earlier = self._turns[place]
            if conversation[: len(earlier)] == earlier:
                return place, len(earlier)
        return None, 0
