"""One call of one tool, from arguments to observation. Whatever happens, there is one."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command
from pydantic import BaseModel, ValidationError

from manus.state.errors import ManusError, ToolError
from manus.tools.base import AgentTool
from manus.tools.explain import explain_arguments
from manus.tools.result import Image, Observation

log = logging.getLogger("manus")

_FOREIGN_TIME_LIMIT = 300.0
"""Seconds for a tool that is not one of ours."""


async def observe_call(
    tool: BaseTool,
    args: Mapping[str, Any],
    *,
    call_id: str = "call",
    config: RunnableConfig | None = None,
) -> Observation:
    """Call a tool and make an observation of whatever comes of it.

    Raises:
        GraphBubbleUp: the tool interrupts the graph, to ask a person.
        asyncio.CancelledError: the run itself is being cancelled.
    """
    limit = tool.time_limit if isinstance(tool, AgentTool) else _FOREIGN_TIME_LIMIT
    try:
        async with asyncio.timeout(limit) as clock:
            return as_observation(await _answer(tool, dict(args), call_id, config))
    except GraphBubbleUp:
        raise
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            raise
        return _failed(f"`{tool.name}` was cancelled before it was done.")
    except Exception as error:  # noqa: BLE001 - whatever a tool raises, the model is told
        if isinstance(error, TimeoutError) and clock.expired():
            return _failed(f"`{tool.name}` did not end within {limit:g} s and was cancelled.")
        unfit = isinstance(error, ValidationError) and _is_about_arguments(tool, error)
        return Observation(_said(tool, error), is_error=True, executed=not unfit)


async def _answer(
    tool: BaseTool, args: dict[str, Any], call_id: str, config: RunnableConfig | None
) -> Any:
    if isinstance(tool, AgentTool) and tool.is_direct(config):
        return await tool.observed(args, call_id)
    call = {"type": "tool_call", "id": call_id, "name": tool.name, "args": args}
    return await tool.ainvoke(call, config)


def _failed(text: str) -> Observation:
    return Observation(text, is_error=True)


def _said(tool: BaseTool, error: Exception) -> str:
    if isinstance(error, ValidationError) and _is_about_arguments(tool, error):
        return explain_arguments(tool, error)
    text, kind = _text(error), type(error).__name__
    if isinstance(error, ToolError | ToolException) and text:
        return text
    if not isinstance(error, ManusError):
        # the model reads what happened and goes on; the log keeps the traceback for a person
        log.info("tool %s raised", tool.name, exc_info=error)
    return f"`{tool.name}` failed: {kind}: {text}" if text else f"`{tool.name}` failed: {kind}."


def _is_about_arguments(tool: BaseTool, error: ValidationError) -> bool:
    """Whether the arguments did not fit, rather than something the tool read on its way."""
    schema = tool.args_schema
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        return False
    return error.title in (schema.__name__, schema.model_config.get("title"))


def _text(error: Exception) -> str:
    try:
        return str(error).strip()
    except Exception:  # noqa: BLE001 - an error that cannot even be shown must not end the run
        return ""


def as_observation(answer: Any) -> Observation:
    """What a tool gave back, as an observation: ours, or any other tool's."""
    if isinstance(answer, Observation):
        return answer
    if isinstance(answer, Command):
        return _of_command(answer)
    if isinstance(answer, ToolMessage):
        if isinstance(answer.artifact, Observation):
            return answer.artifact
        return _of_blocks(answer.content, is_error=answer.status == "error")
    if isinstance(answer, list) and answer and all(map(_is_output, answer)):
        return _joined([as_observation(item) for item in answer])
    return Observation(str(answer))


def _is_output(item: Any) -> bool:
    return isinstance(item, ToolMessage | Command)


def _of_command(command: Command[Any]) -> Observation:
    """A tool that changes the state: its messages are the observation, the rest is passed on."""
    update = dict(command.update) if isinstance(command.update, Mapping) else {}
    messages = update.pop("messages", None) or []
    listed = messages if isinstance(messages, list) else [messages]
    said = _joined([as_observation(m) for m in listed if isinstance(m, ToolMessage)])
    return Observation(said.text, said.images, said.is_error, update)


def _joined(parts: list[Observation]) -> Observation:
    update: dict[str, Any] = {}
    for part in parts:
        update.update(part.update)
    return Observation(
        "\n".join(part.text for part in parts if part.text),
        tuple(image for part in parts for image in part.images),
        any(part.is_error for part in parts),
        update,
    )


def _of_blocks(content: str | Iterable[Any], *, is_error: bool) -> Observation:
    if isinstance(content, str):
        return Observation(content, is_error=is_error)
    texts: list[str] = []
    images: list[Image] = []
    for block in content:
        if (image := _image(block)) is not None:
            images.append(image)
        elif isinstance(block, Mapping):
            texts.append(str(block["text"]) if "text" in block else json.dumps(block, default=str))
        else:
            texts.append(str(block))
    return Observation("\n".join(texts), tuple(images), is_error)


def _image(block: Any) -> Image | None:
    """The picture of a content block, in whichever provider's form; None if it holds none."""
    if not isinstance(block, Mapping) or block.get("type") not in ("image", "image_url"):
        return None
    url = block.get("image_url") or block.get("url") or ""
    address = str(url.get("url", "") if isinstance(url, Mapping) else url)
    if address.startswith("data:"):
        kind, _, data = address.removeprefix("data:").partition(";base64,")
        return Image(data, kind) if data else None
    source = block.get("source")
    held = source if isinstance(source, Mapping) else block
    data = str(held.get("base64") or held.get("data") or "")
    kinds = (held.get(key) for key in ("mime_type", "media_type", "mimeType"))
    return Image(data, str(next(filter(None, kinds), "image/png"))) if data else None
