"""Ask the agent's model: fit the request into its context window and get a usable reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage

from manus.calls.on_demand import unwrap_calls
from manus.config.context import ToolChoice
from manus.models.client import ModelClient, Reply
from manus.models.reasoning import drop_sealed, move_sealed
from manus.models.tokens import estimate_request, learn_window
from manus.nodes.active_run import ActiveRun
from manus.nodes.compaction import ThreadHistory, fit_history, offer_recall
from manus.nodes.notes import StepNotes
from manus.nodes.truncation import context_window
from manus.prompts import agent as prompts
from manus.state.agent import Run
from manus.state.errors import (
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelReplyError,
)
from manus.state.messages import MALFORMED_AT, ephemeral, get_text, has_calls, has_image, list_calls
from manus.state.replies import find_reply_fault

REQUIRED_TRIES = 3
SHORTER_TRIES = 2
_KEPT_METADATA = ("finish_reason", "model_name", "output_version", "model_provider")
"""Keys of a reply's metadata that are stored in every checkpoint."""


async def ask_model(
    active_run: ActiveRun, history: ThreadHistory, system: str | SystemMessage, notes: StepNotes
) -> Reply:
    """Return the model's reply. A request that is too large is compacted and sent once more.

    Raises:
        ModelError: there is no usable reply.
    """
    role = await select_role(active_run, history, notes)
    request: list[BaseMessage] = []
    overflow: ContextOverflowError | None = None
    for tight in (False, True):
        rendered = await render_history(active_run, role, history, system, tight=tight)
        before = request
        request = to_request(rendered, system, notes)
        if tight and estimate_request(request) >= estimate_request(before):
            break
        try:
            tools = None if notes.choice == "none" else active_run.catalog.schemas()
            return await request_reply(active_run.client, role, request, tools, notes.choice)
        except ContextOverflowError as error:
            overflow = error
        if not (tight or overflow.is_guess):
            learn_window(overflow, estimate_request(request, active_run.catalog.schemas()))
    assert overflow is not None
    raise explain_overflow(overflow)


def explain_overflow(overflow: ContextOverflowError) -> ModelError:
    """Return the error for a request that is too large and cannot be compacted further."""
    if overflow.is_guess:
        return ModelRefusedError(str(overflow))
    return ContextOverflowError(
        f"{str(overflow).rstrip('.')}. It cannot be compacted further; put long texts into files, "
        "offer fewer tools, or use a model with a larger window.",
        overflow.endpoint,
    )


async def select_role(active_run: ActiveRun, history: ThreadHistory, notes: StepNotes) -> str:
    """Return the role whose model is called; look up its window, and offer `recall` if needed."""
    role = active_run.settings.profile.role
    if active_run.has_vision_role:
        has_images = bool(notes.images) or _has_unseen_image(history.messages)
        role = active_run.role_for(has_images=has_images)
    if history.compaction is not None:
        await offer_recall(active_run, history.compaction)
    await active_run.client.look_up_window(role)
    return role


async def render_history(
    active_run: ActiveRun,
    role: str,
    history: ThreadHistory,
    system: str | SystemMessage,
    *,
    tight: bool,
) -> list[AnyMessage]:
    """Return the history, fitted into the window of a role's model."""
    text = system if isinstance(system, str) else get_text(system)
    window = context_window(active_run, role, text)
    return await fit_history(history, active_run, window, tight=tight)


async def request_reply(
    client: ModelClient,
    role: str,
    request: Sequence[BaseMessage],
    tools: list[dict[str, Any]] | None,
    choice: Any,
    options: Mapping[str, Any] | None = None,
) -> Reply:
    """Return a usable reply. Ask again for a shorter one, a readable call, or a required one.

    Raises:
        ModelReplyError: the second reply has no answer either.
        ModelRefusedError: the third reply has no call either.
    """
    unusable = 0
    without_call = 0
    while True:
        reply = await client.complete(
            role, request, tools=tools, tool_choice=choice, options=options
        )
        problem = find_reply_fault(reply.message, has_tools=bool(tools))
        if problem is not None:
            unusable += 1
            if unusable == SHORTER_TRIES:
                raise ModelReplyError(prompts.NO_ANSWER[problem])
            request = [*request, ephemeral(prompts.ASK_AGAIN[problem])]
        elif choice != "required" or has_calls(reply.message):
            return reply
        else:
            without_call += 1
            if without_call == REQUIRED_TRIES:
                raise ModelRefusedError(
                    f"The model answered without a tool call {REQUIRED_TRIES} times although tool "
                    "choice is `required`; use `auto`, or a model that can call tools."
                )
            request = [*request, reply.message, ephemeral(prompts.TOOL_REQUIRED)]


def to_request(
    rendered: Sequence[AnyMessage], system: str | SystemMessage | None, notes: StepNotes
) -> list[BaseMessage]:
    """Return the messages of a request: the system prompt, the history, the notes of this step.

    Only the last message is new at each step. A request therefore starts with the previous one up
    to its last message, and the provider's prompt cache keeps that prefix. Empty notes are omitted,
    because several servers refuse a message without content.
    """
    first: list[BaseMessage] = []
    if system:
        first.append(SystemMessage(system) if isinstance(system, str) else system)
    text = "\n\n".join(filter(None, notes.texts))
    images = [image.as_block() for image in notes.images]
    if not (text or images):
        if not (rendered and isinstance(rendered[-1], AIMessage)):
            return [*first, *rendered]
        text = prompts.GO_ON  # servers refuse a request that ends with an assistant message
    return [*first, *rendered, ephemeral(text, images)]


def _has_unseen_image(messages: Sequence[AnyMessage]) -> bool:
    """Return whether an image came after the last reply."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return False
        if has_image(message):
            return True
    return False


def prepare_reply(
    message: AIMessage, *, active_run: ActiveRun, run: Run, tool_choice: ToolChoice
) -> AIMessage:
    """Prepare a reply for the history; replace its id and those of its calls if they exist there.

    Servers omit call ids or number them from the start in each reply; tool messages could then not
    be matched with their calls. A message keeps the id under which it was streamed.
    """
    message.name = active_run.agent_options.name or message.name
    ids = active_run.rendered_history.ids
    prefix = f"{run['id']}-{run['step']}"
    if not message.id or message.id in ids:
        message.id = prefix
    kwargs = message.additional_kwargs
    metadata = message.response_metadata
    message.additional_kwargs = {name: v for name, v in kwargs.items() if v is not None}
    message.response_metadata = {
        name: metadata[name] for name in _KEPT_METADATA if metadata.get(name) is not None
    }
    if tool_choice == "none" and has_calls(message):
        return _without_calls(message)
    new_ids: set[str] = set()
    for index, call in enumerate(list_calls(message)):
        call_id = str(call["id"] or "")
        if not call_id or call_id in ids or call_id in new_ids:
            call["id"] = f"{prefix}-{index}"
            move_sealed(message, call_id, f"{prefix}-{index}")
        new_ids.add(str(call["id"]))
    if active_run.catalog.on_demand_names:
        unwrap_calls(message, active_run.catalog)
    return message


def _without_calls(message: AIMessage) -> AIMessage:
    """Remove the calls of a reply that are not executed, and keep its text."""
    message.content = get_text(message)
    message.tool_calls = []
    message.invalid_tool_calls = []
    message.additional_kwargs.pop(MALFORMED_AT, None)
    drop_sealed(message)  # sealed reasoning belongs to the calls
    return message
