"""Prompts for a model without tool calling, so that it can write calls as text."""

from __future__ import annotations

from collections.abc import Sequence

IMAGE_FOLLOWS = "[The image follows in the next message.]"
IMAGE_LEFT_OUT = "[An image was left out here: this model does not see images.]"
NO_TEXT = "[no text]"
"""Content of a message without text, for servers that refuse one."""
CALLS_FINISHED = "The calls have finished."
"""Assistant message between results and a user message, for servers that require one."""
_HOW = """\
You have tools. To call one, write a block like this, with one JSON object in it and nothing else:

<tool_call>
{"name": "tool_name", "arguments": {"argument": "value"}}
</tool_call>

You may write several blocks, one for each call; write your thoughts before them, and nothing \
after the last. The results come in the next message. Never write a result yourself. Without a \
block your reply counts as the final answer.

The tools, each with the JSON schema of its arguments:
"""


def describe(tools: Sequence[str]) -> str:
    """Return how to call tools, and the list of them."""
    return _HOW + "\n".join(tools)


def call(body: str) -> str:
    """Return a call in the form in which the model must write it."""
    return f"<tool_call>\n{body}\n</tool_call>"


def format_result_header(name: str, *, failed: bool) -> str:
    """Return the line before the result of a call."""
    return f"Result of `{name}`{' (it failed)' if failed else ''}:"
