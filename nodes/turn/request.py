"""What the model is asked: system prompt, history, and last what is true only now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, SystemMessage

from manus.models.recording import ephemeral
from manus.nodes.context.compaction import as_shown
from manus.prompts import agent as prompts
from manus.state.agent import Loop, Run
from manus.state.context import ToolChoice
from manus.state.profile import Profile

FEW_STEPS = 3
IMAGE_LEFT_OUT = "[An image was left out here: this model does not see images.]"


def notes_for(run: Run, loop: Loop | None, tool_choice: ToolChoice = "auto") -> list[str]:
    """What is true only at this step: the hint after a loop, the steps left when they are few."""
    notes = [prompts.NO_TOOLS_NOW] if tool_choice == "none" else []
    if loop is not None and loop["measure"] == "hint" and loop["since"] == run["step"] - 1:
        hint = prompts.polling_hint if loop["kind"] == "polling" else prompts.loop_hint
        notes.append(hint(loop["what"]))
    left = max(1, run["max_steps"] - run["step"] + 1)
    if left <= FEW_STEPS:
        notes.append(prompts.steps_left(left))
    return notes


def to_request(
    history: Sequence[AnyMessage],
    profile: Profile,
    system: str,
    notes: Sequence[str],
    *,
    vision: bool = True,
    images: Sequence[dict[str, Any]] = (),
) -> list[BaseMessage]:
    """The messages of a request. Only the last one is made anew at each step.

    `images` are content blocks that are shown with the last message.

    So each request of a run begins with the one before it, up to its last message, and a
    provider's prompt cache keeps that prefix.
    """
    shown = [as_shown(message) for message in history]
    seen = shown if vision else [without_images(message) for message in shown]
    last = ephemeral(prompts.next_step_prompt(profile.next_step_prompt, notes), images)
    return [SystemMessage(system), *seen, last]


def has_images(message: AnyMessage) -> bool:
    """Whether an image is among the blocks of a message."""
    return isinstance(message.content, list) and any(map(_is_image, message.content))


def without_images(message: AnyMessage) -> AnyMessage:
    """The message itself if it has no image, else a copy with a line in place of each."""
    if not isinstance(message.content, list):
        return message
    blocks = [
        {"type": "text", "text": IMAGE_LEFT_OUT} if _is_image(block) else block
        for block in message.content
    ]
    return message.model_copy(update={"content": blocks})


def _is_image(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in ("image", "image_url")
