"""The chunks of one streamed reply, brought into the form that the protocol has.

LangChain puts the pieces of calls together by their index, adds up every figure and joins every
name that it is sent. Servers were seen to leave the index out or to give each call the same one
(github.com/ollama/ollama/issues/7881, /15457), to send name, id, why the reply ended, or the
figures so far with each piece: calls would run into one another, and a reply that ended at its
length limit would not be known as such.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from manus.models.compatible import (
    mend_message,
    named,
    raise_if_error,
    raise_if_failed,
    reasoning_name,
    reasoning_of,
)
from manus.models.sealed import Sealed
from manus.models.server_usage import together, usage_of, whole_usage
from manus.models.thoughts import IN_TEXT, ThoughtReader


@dataclass(slots=True)
class _Call:
    id: str | None = None
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def args(self) -> str:
        return "".join(self.pieces)

    def is_whole(self) -> bool:
        try:
            return isinstance(json.loads(self.args, strict=False), dict)
        except (ValueError, RecursionError):
            return False


class Chunks:
    """Takes the chunks of one reply in their order."""

    def __init__(self) -> None:
        self._used: dict[str, Any] | None = None
        self._calls: list[_Call] = []
        self._places: dict[Any, int] = {}
        self._ended = False
        self._thoughts = ThoughtReader()
        self._sealed = Sealed()
        self._name = ""

    def mended(self, chunk: dict[str, Any]) -> dict[str, Any]:
        """The chunk in the protocol's form, without its figures; the old one is used up.

        Raises:
            ValueError: it is an error; its argument is what the server says of it.
        """
        raise_if_error(chunk)
        self._used = together(self._used, usage_of(chunk))
        choices = chunk.get("choices") or []
        chunk["choices"] = [self._choice(choice) for choice in choices[:1]]
        return chunk

    @property
    def usage(self) -> dict[str, Any] | None:
        """The newest figures: they are of the whole reply so far, not of a piece of it."""
        return whole_usage(self._used)

    def rest(self) -> tuple[str, str]:
        """What is thought and what is said of the text that was held back."""
        return self._thoughts.end()

    def kept(self) -> dict[str, Any]:
        """What `additional_kwargs` have of thoughts beside their text."""
        return {**self._sealed.kept(len(self._calls)), **named(self._name)}

    def _choice(self, choice: dict[str, Any]) -> dict[str, Any]:
        raise_if_failed(choice)
        delta = dict(choice.get("delta") or choice.get("message") or {})
        mend_message(delta)
        self._sealed.feed(delta, whole=not choice.get("delta"))
        self._split(delta)
        self._name = self._name or reasoning_name(delta)
        delta["tool_calls"] = [self._piece(call) for call in delta.get("tool_calls") or ()]
        reason = None if self._ended else choice.get("finish_reason")
        self._ended = self._ended or bool(reason)
        return {**choice, "delta": delta, "finish_reason": reason}

    def _split(self, delta: dict[str, Any]) -> None:
        if not isinstance(content := delta.get("content"), str):
            return
        thought, delta["content"] = self._thoughts.feed(content)
        if thought and not reasoning_of(delta):
            delta[IN_TEXT] = thought

    def _piece(self, piece: dict[str, Any]) -> dict[str, Any]:
        """A piece of a call with the place of its call, and id and name only the first time."""
        function = piece["function"]
        name, args = str(function.get("name") or ""), function.get("arguments") or ""
        place = self._place(piece.get("index"), piece["id"], name, args)
        call = self._calls[place]
        new_id = piece["id"] if call.id is None else None
        # a name may come in pieces; one that is sent again says nothing. Most pieces have none:
        # looking at all the arguments for each of them would cost as the square of their length
        new_name = "" if name in ("", call.name) or call.is_whole() else name
        new_args = "" if name and args == call.args and call.is_whole() else args
        call.id, call.name = call.id or new_id, call.name + new_name
        call.pieces.append(new_args)
        self._sealed.feed_call(place, piece)
        said = {"name": new_name or None, "arguments": new_args}
        return {"index": place, "id": new_id, "type": "function", "function": said}

    def _place(self, index: Any, id_: str | None, name: str, args: str) -> int:
        """Which call a piece belongs to; a new one where it begins one."""
        known = self._places.get(index)
        if known is None and index is None and self._calls:
            known = len(self._calls) - 1
        if known is None or self._begins(self._calls[known], id_, name, args):
            self._calls.append(_Call())
            known = len(self._calls) - 1
        self._places[index] = known
        return known

    @staticmethod
    def _begins(call: _Call, id_: str | None, name: str, args: str) -> bool:
        """Whether a piece at the place of a call begins another one."""
        other = id_ is not None and call.id is not None and id_ != call.id
        if not name or not (call.is_whole() or (not call.args and other)):
            return False
        same = id_ is not None and id_ == call.id
        return not same and (other or (name, args) != (call.name, call.args))


class AsDicts:
    """The client's chat completions with chunks as they came, whatever types they should have.

    LangChain has the SDK write them down, which warns of each value that is of another type.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    @asynccontextmanager
    async def _dicts(self, stream: Any) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        async with stream:
            kind = stream.response.headers.get("content-type", "")
            yield _whole(stream) if "json" in kind.lower() else _in_pieces(stream)

    async def create(self, **payload: Any) -> Any:
        """A stream of dicts, as an asynchronous context."""
        return self._dicts(await self._client.create(**payload))


async def _in_pieces(stream: Any) -> AsyncIterator[dict[str, Any]]:
    async for chunk in stream:
        yield chunk.model_dump(warnings=False)


async def _whole(stream: Any) -> AsyncIterator[dict[str, Any]]:
    """The one piece of a server that does not stream, or that says what is wrong.

    Some gateways call a stream JSON, too: its pieces come when it has ended.
    """
    body = await stream.response.aread()
    if body.lstrip().startswith((b"data:", b":", b"event:")):
        for line in body.splitlines():
            name, _, value = line.partition(b":")
            if name == b"data" and value.strip() not in (b"", b"[DONE]"):
                yield json.loads(value)
        return
    said = json.loads(body)
    if isinstance(said, dict):
        raise_if_error(said)
        if not said.get("choices"):
            return  # no chat reply: as a stream in which nothing comes
    yield said
