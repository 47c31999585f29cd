"""What eight faults do to the tool calls of a run, in manus and in other agents: `make faults`.

    python -m benchmarks.faults [--trials 10] [--seed 1] [--system NAME] [--fault NAME]

Each run makes eight calls, each of which appends its number to a file. After the fault, it is
resumed by another process until it ends. A cell has three counts over all trials: calls that were
executed twice, calls that were silently lost, and calls of which the model was told: that they may
have taken effect, or that the conversation lacks them. The scripted model does not act on what it
is told. All agents have a SQLite store and `durability="sync"`; the others have no middleware
of ours.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import importlib.util
import os
import random
import resource
import secrets
import shutil
import signal
import sqlite3
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.durability import CALLS, DOUBT, PAUSE
from manus import Context, Profile, build_agent
from manus.config.settings import Settings
from manus.threads.open_store import open_store

SYSTEMS = ("manus", "create_agent", "deepagents", "pydantic-ai")
FAULTS = (
    *("kill anywhere", "kill in a tool", "zombie", "store cannot grow", "model away"),
    *("cancelled call", "repeated ids", "older copy of the store"),
)
_RANDOM = ("kill anywhere", "repeated ids")
"""Faults that kill the run at three random moments."""
_AT = CALLS // 2
"""Number of the call at which a fault strikes."""
_ATTEMPTS = 8
_PATIENCE = 30.0
"""Seconds after which an attempt is ended."""
_STORE = "threads.sqlite"
_OLDER = "This conversation is older than the record of your tool calls"
"""The beginning of the note that names the calls that a restored conversation lacks."""


@dataclass
class Trial:
    """One run with one fault, in a folder of its own."""

    system: str
    fault: str
    folder: Path
    run: asyncio.Task[Any] | None = field(default=None)

    def strikes(self) -> bool:
        """Return whether the fault has not struck yet, and note that it does now."""
        mark = self.folder / "struck"
        if mark.exists():
            return False
        mark.touch()
        return True

    def note_request(self, number: int) -> None:
        """Fail the request after this number of results if the model is away."""
        if self.fault == "model away" and number == _AT and self.strikes():
            raise ConnectionError("the model is away")

    def name_call(self) -> str:
        """Return the id of the next call."""
        return "call_0" if self.fault == "repeated ids" else f"c{secrets.token_hex(4)}"

    async def append(self, number: int) -> str:
        """Append a number."""
        await asyncio.sleep(PAUSE)
        with (self.folder / "effects").open("a") as file:
            file.write(f"{number}\n")
        if self.fault == "older copy of the store" and number == _AT - 1:
            self._copy_store()
        if number == _AT:
            await self._strike()
        await asyncio.sleep(PAUSE)
        return f"Appended {number}."

    async def _strike(self) -> None:
        """Do to this process what the fault does during a call, after its effect."""
        signals = {"zombie": signal.SIGSTOP}
        signals |= dict.fromkeys(("kill in a tool", "older copy of the store"), signal.SIGKILL)
        if self.fault in signals and self.strikes():
            os.kill(os.getpid(), signals[self.fault])
        elif self.fault == "cancelled call" and self.strikes():
            assert self.run is not None
            self.run.cancel()
            await asyncio.sleep(1)
        elif self.fault == "store cannot grow" and self.strikes():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))

    def _copy_store(self) -> None:
        if not (self.folder / "copy").exists():
            store, copy = (sqlite3.connect(self.folder / name) for name in (_STORE, "copy"))
            with closing(store), closing(copy):
                store.backup(copy)

    def restore_copy(self) -> None:
        """Replace the store by its older copy."""
        for suffix in ("-wal", "-shm"):
            (self.folder / f"{_STORE}{suffix}").unlink(missing_ok=True)
        shutil.copyfile(self.folder / "copy", self.folder / _STORE)


class FaultyModel(BaseChatModel):
    """A model that makes the n-th call after n tool messages, unless it is away."""

    trial: Any

    @property
    def _llm_type(self) -> str:
        return "faulty"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        number = sum(isinstance(message, ToolMessage) for message in messages)
        if _OLDER in str(messages[-1].content):
            (self.trial.folder / "told").touch()
        self.trial.note_request(number)
        reply = AIMessage("Done.")
        if number < CALLS:
            call = {"name": "append", "args": {"number": number}, "id": self.trial.name_call()}
            reply = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=reply)])


async def work(trial: Trial) -> list[str]:
    """Start or resume the run; return the texts of its tool messages."""
    os.environ["XDG_STATE_HOME"] = str(trial.folder / "state")
    path = trial.folder / _STORE
    config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 1000}
    model = FaultyModel(trial=trial)
    request: Any = {"messages": [("user", "Append.")]}
    if trial.system == "pydantic-ai":
        peer = importlib.import_module("benchmarks.pydantic_agent")
        texts: list[str] = await peer.work(trial, path)
        return texts
    if trial.system == "manus":
        profile = Profile("appender", "Appends.", (trial.append,), "You append.", "Go on.")
        context = Context(workspace=str(trial.folder / "workspace"), approve="yolo")
        async with open_store(Settings(checkpoint=str(path))) as store:
            agent = build_agent(profile, model=model, checkpointer=store)
            return await _run(trial, agent, {"request": "Append."}, config, context=context)
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        build: Any = create_agent
        if trial.system == "deepagents":
            build = importlib.import_module("deepagents").create_deep_agent
        graph = build(model=model, tools=[trial.append], checkpointer=saver)
        return await _run(trial, graph, request, config)


async def _run(trial: Trial, graph: Any, request: Any, config: Any, **options: Any) -> list[str]:
    started = (await graph.aget_state(config)).values.get("messages")
    run = graph.ainvoke(None if started else request, config, durability="sync", **options)
    trial.run = asyncio.ensure_future(run)
    await trial.run
    state = await graph.aget_state(config)
    if state.next:
        raise RuntimeError("the run waits")
    return [str(m.content) for m in state.values["messages"] if isinstance(m, ToolMessage)]


def attempt(trial: Trial) -> int:
    """Start or resume the run in a new process; return its id."""
    pid = os.fork()
    if pid == 0:
        errors = os.open(trial.folder / "errors", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(errors, 2)
        try:
            texts = asyncio.run(work(trial))
            (trial.folder / "answers").write_text("\n".join(t.replace("\n", " ") for t in texts))
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the fault, after which the run is resumed
            traceback.print_exc()
        finally:
            os._exit(1)
    return pid


def wait(pid: int, seconds: float = _PATIENCE) -> str:
    """Return how a process has ended: `done`, `failed`, `killed` or `stopped`."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        found, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if not found:
            time.sleep(0.002)
        elif os.WIFSTOPPED(status):
            return "stopped"
        elif os.WIFSIGNALED(status):
            return "killed"
        else:
            return "failed" if os.WEXITSTATUS(status) else "done"
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "killed"


def execute(trial: Trial, delays: random.Random, duration: float) -> None:
    """Run until the end, through the fault.

    Raises:
        RuntimeError: the run does not end.
    """
    is_random = trial.fault in _RANDOM
    for number in range(_ATTEMPTS):
        pid = attempt(trial)
        end = wait(pid, delays.uniform(0, duration) if is_random and number < 3 else _PATIENCE)
        if end == "stopped":
            second = wait(attempt(trial))
            os.kill(pid, signal.SIGCONT)
            end = wait(pid)
            end = second if second == "done" else end
        if end == "done":
            return
        if trial.fault == "older copy of the store" and number == 0:
            trial.restore_copy()
    raise RuntimeError((trial.folder / "errors").read_text()[-2000:])


def measure(system: str, fault: str, trials: int, seed: int) -> str:
    """Return the cell of a table: doubled, lost and in doubt."""
    delays = random.Random(seed)
    doubled = lost = told = 0
    duration = 0.0
    if fault in _RANDOM:
        with tempfile.TemporaryDirectory() as name:
            start = time.monotonic()
            execute(Trial(system, "none", Path(name)), delays, 0)
            duration = time.monotonic() - start
    for _ in range(trials):
        with tempfile.TemporaryDirectory() as name:
            try:
                execute(Trial(system, fault, Path(name)), delays, duration)
            except RuntimeError as error:
                return f"does not end: {str(error).strip().splitlines()[-1][:80]}"
            effects = Counter(Path(name, "effects").read_text().split())
            answers = Path(name, "answers").read_text().splitlines()
            has_note = Path(name, "told").exists()
        in_doubt = sum(any(text in answer for text in DOUBT) for answer in answers)
        doubled += effects.total() - len(effects)
        lost += max(0, CALLS - len(effects) - in_doubt)
        told += in_doubt + has_note
    return f"{doubled}, {lost}, {told}"


def _list_installed() -> list[str]:
    """Return the systems to compare; pydantic-ai's Harness is not among the requirements."""
    has_harness = importlib.util.find_spec("pydantic_ai_harness") is not None
    return [system for system in SYSTEMS if has_harness or system != "pydantic-ai"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--system", choices=SYSTEMS)
    parser.add_argument("--fault", choices=FAULTS)
    options = parser.parse_args(arguments)
    systems = [options.system] if options.system else _list_installed()
    print(f"| {options.trials} runs: doubled, lost, told | {' | '.join(systems)} |")
    print("| --- |" + " --- |" * len(systems))
    for fault in [options.fault] if options.fault else FAULTS:
        cells = [measure(system, fault, options.trials, options.seed) for system in systems]
        print(f"| {fault} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
