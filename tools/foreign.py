"""Tools that are not ours: any LangChain tool, called as LangGraph's own ToolNode calls it."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from langgraph.prebuilt import ToolNode
from langgraph.runtime import get_runtime
from langgraph.types import Command

from manus.tools.result import Image, Observation

_PASS = (Exception, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)


async def call_foreign(
    tool: BaseTool, args: Mapping[str, Any], call_id: str, config: RunnableConfig | None
) -> Observation:
    """Call a tool; state, store, runtime and call id are injected where it asks for them.

    Raises:
        Exception: whatever the tool raises.
    """
    call = {"type": "tool_call", "id": call_id, "name": tool.name, "args": dict(args)}
    if not _in_graph():
        return as_observation(await contained(tool).ainvoke(call, config))
    node = ToolNode([contained(tool)], handle_tool_errors=False)
    return as_observation(await node.ainvoke([call], config))


def _in_graph() -> bool:
    try:
        return get_runtime() is not None
    except (RuntimeError, KeyError):
        return False


def contained(tool: BaseTool) -> BaseTool:
    """The tool with `sys.exit()` in what it runs made an error.

    LangChain runs that in a task of its own, and asyncio ends the event loop where such an
    exception comes out of a task. The methods stay those of the tool itself, with its state.
    """
    shell = tool.model_copy()
    object.__setattr__(shell, "_run", _contained(tool._run))  # pydantic refuses it otherwise
    object.__setattr__(shell, "_arun", _contained_async(tool._arun))
    return shell


def _contained(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except _PASS:
            raise
        except BaseException as error:
            raise exit_error(error) from error

    return call


def _contained_async(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return await function(*args, **kwargs)
        except _PASS:
            raise
        except BaseException as error:
            raise exit_error(error) from error

    return call


def exit_error(error: BaseException) -> ToolException:
    """What is said of a tool that would have ended the program."""
    return ToolException(f"The tool tried to end the program: {type(error).__name__}: {error}")


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
    if isinstance(answer, Mapping) and "messages" in answer:  # of a ToolNode
        return as_observation(answer["messages"])
    if isinstance(answer, list) and answer and all(map(_is_output, answer)):
        return _joined([as_observation(item) for item in answer])
    return Observation(str(answer))


def _is_output(item: Any) -> bool:
    return isinstance(item, ToolMessage | Command) or (
        isinstance(item, Mapping) and "messages" in item
    )


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
