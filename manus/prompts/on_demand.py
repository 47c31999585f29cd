"""Texts for the model about tools on demand, which a request lists by name only."""

from __future__ import annotations

NAME = "A name from the list"
ARGUMENTS = 'Arguments of the tool, such as {"query": "…"}'


def listing(tools: str) -> str:
    """Return the description of `use_tool`, with the list of tools."""
    return (
        f"Call one of these tools:\n{tools}\n"
        "Without `arguments` it describes the tool, with an example."
    )


def description(name: str, text: str, schema: str, example: str) -> str:
    """Return the full description of a tool, including how to call it."""
    return (
        f"`{name}`: {text}\n\nIts arguments, as a JSON schema: {schema}\n"
        f"Call it with `use_tool`, for example: {example}"
    )


def first_use(text: str) -> str:
    """Return a description that follows the result of the first call of a tool."""
    return f"\n\n[For further calls]\n{text}"
