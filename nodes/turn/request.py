"""What the model is asked: system prompt, history, and last what is true only now."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, BaseMessage, SystemMessage

from manus.nodes.context.turns import as_shown
from manus.nodes.turn.notes import Notes
from manus.prompts import agent as prompts
from manus.state.messages import ephemeral
from manus.state.profile import Profile

IMAGE_LEFT_OUT = "[An image was left out here: this model does not see images.]"


def to_request(
    history: Sequence[AnyMessage],
    profile: Profile,
    system: str,
    notes: Notes,
    *,
    vision: bool = True,
) -> list[BaseMessage]:
    """The messages of a request. Only the last one is made anew at each step.

    So each request of a run begins with the one before it, up to its last message, and a
    provider's prompt cache keeps that prefix.
    """
    shown = [as_shown(message) for message in history]
    seen = shown if vision else [without_images(message) for message in shown]
    text = prompts.next_step_prompt(profile.next_step_prompt, notes.texts)
    last = ephemeral(text, [image.as_block() for image in notes.images])
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
