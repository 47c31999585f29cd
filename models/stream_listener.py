"""What was heard of a reply while it came, for the account of a call that breaks off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackManager
from langchain_core.messages import AIMessageChunk
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

from manus.models.error_facts import chain, status_of, told
from manus.state.messages import text_of
from manus.state.thinking import thinking_in
from manus.state.watched import is_watched

_AFTER_SENDING = {
    "ClientPayloadError",
    "ConnectionClosedError",
    "IncompleteRead",
    "ProtocolError",
    "ReadError",
    "ReadTimeout",
    "ReadTimeoutError",
    "RemoteProtocolError",
    "ResponseStreamingError",
    "ServerDisconnectedError",
    "ServerTimeoutError",
    "SilentStreamError",
    "SocketTimeoutError",
}
"""What clients raise when a request had gone out, and no whole answer came."""
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")


class Ear(AsyncCallbackHandler):
    """Hears the pieces of one reply: words, thoughts, arguments of calls."""

    run_inline = True

    def __init__(self) -> None:
        self.has_heard = False
        """Whether anything came, if only an empty first piece."""
        self._pieces: list[str] = []

    @property
    def said(self) -> str:
        """All that came."""
        return "".join(self._pieces)

    async def on_chat_model_start(self, *_: Any, **__: Any) -> None:
        """Nothing to hear yet."""

    async def on_llm_new_token(self, token: Any, *, chunk: Any = None, **_: Any) -> None:
        """A piece, as models stream them."""
        self.has_heard = True
        message = getattr(chunk, "message", None)
        if not isinstance(message, AIMessageChunk):
            self._pieces.append(str(token))
            return
        self._pieces.append(text_of(message))
        self._pieces += [piece["args"] or "" for piece in message.tool_call_chunks]
        self._pieces.append(thinking_in(message))

    async def on_stream_event(self, event: Any, **_: Any) -> None:
        """A piece, under LangGraph's newer streaming protocol."""
        self.has_heard = True
        delta = event.get("delta")
        if not isinstance(delta, Mapping):
            return
        self._pieces.append(str(delta.get("text") or ""))
        found = (delta.get(name) for name in _THOUGHTS)
        self._pieces += [text for text in found if isinstance(text, str)]
        fields = delta.get("fields")
        if isinstance(fields, Mapping) and fields.get("args"):
            self._pieces.append(str(fields["args"]))


_ear: ContextVar[Ear | None] = ContextVar("ear", default=None)


@contextmanager
def listening() -> Iterator[Ear]:
    """Hear the reply that is asked for in the block."""
    ear = Ear()
    token = _ear.set(ear)
    try:
        yield ear
    finally:
        _ear.reset(token)


def heard() -> RunnableConfig:
    """The configuration with which whoever listens hears the reply, beside those who do already.

    Empty where nobody else does: then a reply does not come in pieces, and is asked for directly.
    """
    ear, config = _ear.get(), ensure_config()
    if ear is None or not is_watched(config):
        return {}
    known = config.get("callbacks")
    if not isinstance(known, BaseCallbackManager):
        return {"callbacks": [*(known or ()), ear]}
    more = known.copy()
    more.add_handler(ear, inherit=False)
    return {"callbacks": more}


def may_be_billed(error: BaseException, ear: Ear) -> bool:
    """Whether a provider may bill a call that ended so, though no whole reply came of it.

    Not one that it refused, or that never reached it. One that was cancelled, or of which nothing
    more was heard after it had been sent, may have been worked on.
    """
    if ear.has_heard or not isinstance(error, Exception):
        return True
    if status_of(error) is not None or told(error):
        return False
    return any(type(link).__name__ in _AFTER_SENDING for link in chain(error))
