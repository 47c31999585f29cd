"""A model that plays a recording.

A conversation that the recording does not hold fails with the difference to the nearest one.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import PrivateAttr

from manus.models.recording import Turn, decode_reply, digest, normal_form, normal_turn
from manus.models.tool_calls import as_sent
from manus.state.errors import ReplayMismatchError, SettingsError
from manus.state.messages import calls_of


class ReplayModel(BaseChatModel):
    """Plays a recording: a scripted model, found by the conversation."""

    path: str
    workspace: str
    _conversations: list[list[Turn]] = PrivateAttr(default_factory=list)
    _replies: list[Turn] = PrivateAttr(default_factory=list)
    _places: dict[str, list[int]] = PrivateAttr(default_factory=dict)

    @classmethod
    def load(cls, path: str, workspace: str) -> Self:
        """Read a recording. Blocking.

        Raises:
            SettingsError: there is none, or it is not a recording.
        """
        model = cls(path=path, workspace=workspace)
        try:
            with Path(path).open(encoding="utf-8") as handle:
                for line in filter(_is_whole, handle):
                    model._add(json.loads(line))
        except OSError as error:
            raise SettingsError(
                f"The recording {path} cannot be read ({error.strerror})."
            ) from None
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise SettingsError(f"{path} is not a recording of model turns ({error}).") from None
        return model

    def _add(self, line: Turn) -> None:
        after = line["after"]
        before = [] if after is None else [*self._conversations[after], self._spoken(after)]
        conversation = [*before, *line["messages"]]
        self._places.setdefault(digest(conversation), []).append(len(self._replies))
        self._conversations.append(conversation)
        self._replies.append(line["reply"])

    def _spoken(self, place: int) -> Turn:
        return normal_turn(decode_reply(self._replies[place], self.workspace), self.workspace)

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        conversation = normal_form(messages, self.workspace)
        places = self._places.get(digest(conversation))
        if not places:
            raise ReplayMismatchError(self._difference(conversation))
        # a conversation asked twice has its replies in turn; the last one serves from then on
        place = places.pop(0) if len(places) > 1 else places[0]
        return decode_reply(self._replies[place], self.workspace)

    def _difference(self, conversation: list[Turn]) -> str:
        if not self._conversations:
            return f"The recording {self.path} is empty."
        nearest = max(self._conversations, key=lambda known: _common(known, conversation))
        same = _common(nearest, conversation)
        said = difflib.unified_diff(
            _lines(nearest[same : same + 1]),
            _lines(conversation[same : same + 1]),
            "recorded",
            "this run",
            lineterm="",
            n=1,
        )
        shown = "\n".join(list(said)[:40])
        return (
            f"The recording {self.path} does not hold this conversation; message {same + 1} of "
            f"{len(conversation)} is the first that differs:\n{shown}\n"
            "A recording answers only what was recorded; whatever else is asked needs a model "
            "(OPENAI_API_KEY, or MANUS_MODEL and MANUS_BASE_URL)."
        )

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        """The model itself: its replies are fixed, whatever tools there are."""
        return self

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
            for message in _pieces(reply):
                chunk = ChatGenerationChunk(message=message)
                await run_manager.on_llm_new_token(str(message.content), chunk=chunk)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def _pieces(reply: AIMessage) -> Iterator[AIMessageChunk]:
    """The reply as it is shown: word by word, then its calls."""
    in_blocks = not isinstance(reply.content, str)
    words = [reply.content] if in_blocks else re.findall(r"\S+\s*|\s+", str(reply.content))
    for word in words:
        yield AIMessageChunk(content=word, id=reply.id)
    calls = [
        tool_call_chunk(id=call["id"], name=call["name"], args=call["args"], index=index)
        for index, call in enumerate(map(as_sent, calls_of(reply)))
    ]
    yield AIMessageChunk(
        content="", tool_call_chunks=calls, additional_kwargs=reply.additional_kwargs, id=reply.id
    )


def _is_whole(line: str) -> bool:
    # the last line may have been under way when the recording process died
    return line.endswith("\n")


def _common(known: list[Turn], conversation: list[Turn]) -> int:
    pairs = zip(known, conversation, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(known), len(conversation)))


def _lines(turns: list[Turn]) -> list[str]:
    if not turns:
        return ["(no message)"]
    head = {k: v for k, v in turns[0].items() if k != "text"}
    return [json.dumps(head, ensure_ascii=False), *turns[0]["text"].splitlines()]
