"""Small real tools for tests: each does one thing to a file, or has a typical fault."""

import asyncio
from typing import Any

from langchain_core.messages import HumanMessage
from pydantic import BaseModel, Field

from manus.calls.base import AgentTool, Arguments
from manus.calls.result import Image, Observation
from manus.calls.session import Resource
from manus.state.errors import ToolError
from tests.helpers.processes import until

RED_DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)
"""An image (PNG) of one pixel, in base64."""


class FileArgs(Arguments):
    path: str = Field(description="The file")


class LineArgs(FileArgs):
    line: str = Field(description="The line")


class NoArgs(Arguments):
    pass


class Append(AgentTool):
    """Has an effect that reveals when it happens twice."""

    name: str = "append"
    description: str = "Append a line to a file."
    args_schema: type[BaseModel] = LineArgs

    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:
        return frozenset({Resource(self.session.workspace.resource(args["path"]))})

    async def observe(self, path: str, line: str, **_: Any) -> Observation:
        file = self.session.workspace.writable(path)
        with file.open("a") as handle:
            handle.write(line + "\n")
        return Observation(f"Appended to {path}.")


class Hold(Append):
    """Appends a line, then waits for the file `release`."""

    name: str = "hold"
    description: str = "Append a line to a file and wait."

    async def observe(self, path: str, line: str, **_: Any) -> Observation:
        await super().observe(path=path, line=line)
        await until((self.session.workspace.root / "release").exists)
        return Observation("Released.")


class Consult(Append):
    """Calls a model, and appends its reply to a file."""

    name: str = "consult"
    description: str = "Ask somebody and write down the answer."

    async def observe(self, path: str, line: str, **_: Any) -> Observation:
        assert self.session.complete is not None
        answer = await self.session.complete("extract", [HumanMessage(line)])
        await super().observe(path=path, line=answer)
        return Observation(f"Written down: {answer}")


class Read(AgentTool):
    """Changes nothing; the same observation as long as the file is unchanged."""

    name: str = "read"
    description: str = "Read a file."
    args_schema: type[BaseModel] = FileArgs

    def resources(self, args: dict[str, Any]) -> frozenset[Resource]:
        return frozenset({Resource(self.session.workspace.resource(args["path"]), write=False)})

    def read_only(self, args: dict[str, Any]) -> bool:
        return True

    async def observe(self, path: str, **_: Any) -> Observation:
        file = self.session.workspace.readable(path)
        if not file.exists():
            raise ToolError(f"There is no file {path}.")
        return Observation(file.read_text())


class Poll(AgentTool):
    """The same call with a different result each time."""

    name: str = "poll"
    description: str = "How far the work has come."
    args_schema: type[BaseModel] = NoArgs

    async def observe(self, **_: Any) -> Observation:
        file = self.session.workspace.root / "polled"
        count = int(file.read_text()) + 1 if file.exists() else 1
        file.write_text(str(count))
        return Observation(f"{count} %")


class Shelf:
    """A live object of a session."""

    open = 0

    def __init__(self) -> None:
        self.items: list[str] = []
        Shelf.open += 1

    async def close(self) -> None:
        Shelf.open -= 1


class Keep(AgentTool):
    """Stores lines in a live object of the session and returns them all."""

    name: str = "keep"
    description: str = "Put a line on the shelf."
    args_schema: type[BaseModel] = LineArgs

    async def observe(self, line: str, **_: Any) -> Observation:
        async def make() -> Shelf:
            return Shelf()

        shelf = await self.session.obtain("shelf", make)
        shelf.items.append(line)
        return Observation(" ".join(shelf.items))


async def broken() -> str:
    """Raise an unexpected exception."""
    raise RuntimeError("the disk is on fire")


async def cancelled() -> str:
    """Get cancelled from inside, as by a library whose own task was cancelled."""
    raise asyncio.CancelledError


class Slow(AgentTool):
    """Never returns."""

    name: str = "slow"
    description: str = "Takes long."
    args_schema: type[BaseModel] = NoArgs
    time_limit = 0.05

    async def observe(self, **_: Any) -> Observation:
        await asyncio.Event().wait()
        raise AssertionError("never reached")


class Picture(AgentTool):
    """Returns an image along with a text."""

    name: str = "picture"
    description: str = "Take a picture."
    args_schema: type[BaseModel] = NoArgs

    async def observe(self, **_: Any) -> Observation:
        return Observation("A red dot.", (Image(RED_DOT),))


ALL = (Append, Hold, Read, Poll, Keep, broken, cancelled, Slow, Picture, "ask_human", "terminate")
