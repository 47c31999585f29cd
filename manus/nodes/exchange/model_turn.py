"""One exchange with the agent's model: the request fits, and there is a reply to go on with."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage

from manus.config.context import ToolChoice
from manus.models.client import Reply
from manus.models.reasoning import drop_sealed, move_sealed
from manus.models.tokens import estimate_request, learn_window
from manus.nodes.active_run import ActiveRun
from manus.nodes.context.compaction import Past, fit_history, offer_recall
from manus.nodes.context.truncation import context_window
from manus.nodes.exchange.notes import Notes
from manus.prompts import agent as prompts
from manus.state.agent import Run
from manus.state.errors import ContextOverflowError, ModelRefusedError, ModelReplyError
from manus.state.messages import (
    MALFORMED_AT,
    calls_of,
    ephemeral,
    has_calls,
    is_image,
    no_answer,
    text_of,
)

REQUIRED_TRIES = 3
SHORTER_TRIES = 2
_ABOUT = ("finish_reason", "model_name", "output_version", "model_provider")
"""What a provider says about a reply that is worth a place in every checkpoint."""


async def ask_model(active_run: ActiveRun, past: Past, system: str, notes: Notes) -> Reply:
    """The model's reply. A request that is too large is made shorter and sent once more.

    Raises:
        ModelError: there is none to go on with.
    """
    role = active_run.role_for(pictures=bool(notes.images) or _is_pictured(past.history))
    if past.compaction is not None:
        await offer_recall(active_run, past.compaction)
    await active_run.client.look_up_window(role)
    request: list[BaseMessage] = []
    refused: ContextOverflowError | None = None
    for tight in (False, True):
        window = context_window(active_run, role, system)
        shown = await fit_history(past, active_run, window, tight=tight)
        before = request
        request = to_request(shown, system, notes)
        if tight and estimate_request(request) >= estimate_request(before):
            break
        try:
            return await _asked(active_run, role, request, notes.choice)
        except ContextOverflowError as error:
            refused = error
        if not tight:
            learn_window(refused, estimate_request(request, active_run.catalog.schemas()))
    assert refused is not None
    raise ContextOverflowError(
        f"{str(refused).rstrip('.')}. What is left of it cannot be made shorter; put long "
        "texts into files, offer fewer tools, or use a model with a larger window.",
        refused.endpoint,
    )


async def _asked(
    active_run: ActiveRun, role: str, request: Sequence[BaseMessage], choice: ToolChoice
) -> Reply:
    """The reply; asked for again, shorter, or with the call that is required, where it is none.

    Raises:
        ModelReplyError: the second one is no answer either.
        ModelRefusedError: the third one has no call either.
    """
    tools = None if choice == "none" else active_run.catalog.schemas()
    shorter = required = 0
    while True:
        reply = await active_run.client.complete(role, request, tools=tools, tool_choice=choice)
        if (why := no_answer(reply.message)) is not None:
            shorter += 1
            if shorter == SHORTER_TRIES:
                raise ModelReplyError(prompts.NO_ANSWER[why])
            request = [*request, ephemeral(prompts.SHORTER)]
        elif choice != "required" or has_calls(reply.message):
            return reply
        else:
            required += 1
            if required == REQUIRED_TRIES:
                raise ModelRefusedError(
                    f"The model answered without a tool call {REQUIRED_TRIES} times although tool "
                    "choice is `required`; use `auto`, or a model that can call tools."
                )
            request = [*request, reply.message, ephemeral(prompts.TOOL_REQUIRED)]


def to_request(shown: Sequence[AnyMessage], system: str, notes: Notes) -> list[BaseMessage]:
    """Return the messages of a request. Only the last one is made anew at each step.

    Where nothing has to be said at this step, it is left out: several servers refuse a message
    without content.

    So each request of a run begins with the one before it, up to its last message, and a
    provider's prompt cache keeps that prefix.
    """
    text = "\n\n".join(filter(None, notes.texts))
    images = [image.as_block() for image in notes.images]
    if not (text or images):
        if not (shown and isinstance(shown[-1], AIMessage)):
            return [SystemMessage(system), *shown]
        text = prompts.GO_ON  # servers refuse a request that ends with the assistant's own words
    return [SystemMessage(system), *shown, ephemeral(text, images)]


def _is_pictured(history: Sequence[AnyMessage]) -> bool:
    """Whether there is a picture that no model has answered to."""
    for message in reversed(history):
        if isinstance(message, AIMessage):
            return False
        if isinstance(message.content, list) and any(map(is_image, message.content)):
            return True
    return False


def prepared(message: AIMessage, ids: set[str], run: Run, tool_choice: ToolChoice) -> AIMessage:
    """The reply as it goes into the history: its id and those of its calls are not among `ids`.

    Servers leave call ids out or number them anew in each reply; a tool message could then not be
    told to its call. The message keeps the id under which it was streamed where it has one.
    """
    own = f"{run['id']}-{run['step']}"
    if not message.id or message.id in ids:
        message.id = own
    said = message.response_metadata
    beside = message.additional_kwargs
    message.response_metadata = {n: said[n] for n in _ABOUT if said.get(n) is not None}
    message.additional_kwargs = {n: v for n, v in beside.items() if v is not None}
    if tool_choice == "none" and has_calls(message):
        return _without_calls(message)
    taken = ids.copy()
    for index, call in enumerate(calls_of(message)):
        id_ = str(call["id"] or "")
        if not id_ or id_ in taken:
            call["id"] = f"{own}-{index}"
            move_sealed(message, id_, f"{own}-{index}")
        taken.add(str(call["id"]))
    return message


def _without_calls(message: AIMessage) -> AIMessage:
    """What is left of a reply whose calls are neither carried out nor answered: its text."""
    message.content = text_of(message)
    message.tool_calls = []
    message.invalid_tool_calls = []
    message.additional_kwargs.pop(MALFORMED_AT, None)
    drop_sealed(message)  # it belongs to them
    return message
