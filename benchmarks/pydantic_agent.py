"""The run of `benchmarks.faults` by pydantic-ai with the step persistence of its Harness.

`pydantic-ai-slim` and `pydantic-ai-harness` are not among the requirements; install them to include
it. A run is resumed as their documentation says: with the messages of the newest snapshot of the
process before, if there is one. The ledger of effects names the calls in doubt to the program, not
to the model.
"""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import Any

from pydantic_ai import Agent  # type: ignore[import-not-found,unused-ignore]
from pydantic_ai.messages import (  # type: ignore[import-not-found,unused-ignore]
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import (  # type: ignore[import-not-found,unused-ignore]
    FunctionModel,
)
from pydantic_ai_harness.step_persistence import (  # type: ignore[import-not-found,unused-ignore]
    SqliteStepStore,
    StepPersistence,
)

from benchmarks.durability import CALLS


async def work(trial: Any, store_path: Path) -> list[str]:
    """Start or resume the run; return the texts of its tool results."""

    def reply(messages: list[Any], _: Any) -> Any:
        number = len(_list_results(messages))
        trial.note_request(number)
        if number >= CALLS:
            return ModelResponse([TextPart("Done.")])
        name = trial.name_call()
        return ModelResponse([ToolCallPart("append", {"number": number}, tool_call_id=name)])

    store = SqliteStepStore(database=str(store_path))
    runs = trial.folder / "runs"
    history: list[Any] = []
    for earlier in reversed(runs.read_text().split() if runs.exists() else []):
        if snapshot := await store.latest_snapshot(run_id=earlier):
            history = [*snapshot.messages]
            break
    run_id = secrets.token_hex(4)
    with runs.open("a") as file:
        file.write(f"{run_id}\n")
    agent = Agent(FunctionModel(reply), capabilities=[StepPersistence(store=store, run_id=run_id)])
    agent.tool_plain(trial.append)
    run = agent.run(None if history else "Append.", message_history=history or None)
    trial.run = asyncio.ensure_future(run)
    result = await trial.run
    return [str(part.content) for part in _list_results(result.all_messages())]


def _list_results(messages: list[Any]) -> list[Any]:
    parts = [part for message in messages for part in message.parts]
    return [part for part in parts if isinstance(part, ToolReturnPart)]
