"""Write `manus/recordings/flow_calculator.jsonl`: python -m scripts.record_flow_calculator.

As in `scripts.record_calculator`, the turns are written by hand; the tools' output is real.
The task is planned first; code and tests are written in parallel, then run, then tried out.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from manus.config.context import Context
from manus.graph import build_flow
from manus.graph.profiles import all_executors
from scripts.record_calculator import CALCULATOR, RUN_TESTS, TASK, TESTS, TRY_OUT, join
from tests.flow.helpers import is_planner, is_step, is_summary
from tests.server import ScriptedServer, call, calls, text, tokens

RECORDING = Path("manus/recordings/flow_calculator.jsonl")

WRITE = (
    "[swe] Write calculator.py with add, subtract, multiply, divide (which refuses zero with a "
    "ValueError), calculate(expression) and a command line"
)
TEST = (
    "[swe] Write test_calculator.py with unittest: the four functions, division by zero, and "
    "calculate with valid and invalid expressions"
)
RUN = "Run the tests and fix what fails"
TRY = "Try the calculator as a user would"

CREATE = {"command": "create"}

PLAN = call(
    "planning",
    command="create",
    plan_id="calculator",
    title="A calculator and its tests",
    steps=[
        {"text": WRITE, "depends_on": []},
        {"text": TEST, "depends_on": []},
        {"text": RUN, "depends_on": [0, 1]},
        {"text": TRY, "depends_on": [2]},
    ],
)

TURNS = {
    WRITE: [
        calls(
            call(
                "str_replace_editor", command="create", path="calculator.py", file_text=CALCULATOR
            ),
            text="Four functions, and a small command line that uses them.",
            usage=tokens(1498, 398),
        ),
        calls(
            call("terminate", status="success"),
            text="calculator.py has add, subtract, multiply and divide, `calculate('6 * 7')` for "
            "expressions with one operator, and a command line.",
            usage=tokens(1944, 52, cached=1408),
        ),
    ],
    TEST: [
        calls(
            call("str_replace_editor", CREATE, path="test_calculator.py", file_text=TESTS),
            text="The tests, with the cases that usually go wrong.",
            usage=tokens(1501, 319),
        ),
        calls(
            call("terminate", status="success"),
            text="test_calculator.py has 7 tests.",
            usage=tokens(1866, 21, cached=1408),
        ),
    ],
    RUN: [
        calls(call("python_execute", code=RUN_TESTS), text="Now run them.", usage=tokens(1712, 44)),
        calls(
            call("terminate", status="success"),
            text="All 7 tests pass; nothing needed fixing.",
            usage=tokens(1838, 27, cached=1664),
        ),
    ],
    TRY: [
        calls(
            call("python_execute", code=TRY_OUT),
            text="Four calculations, and a division by zero.",
            usage=tokens(1790, 102),
        ),
        calls(
            call("terminate", status="success"),
            text="The results are correct (6 * 7 = 42, 1 / 8 = 0.125); 1 / 0 gives “cannot divide "
            "by zero” and exit code 1.",
            usage=tokens(1995, 49, cached=1664),
        ),
    ],
}

SUMMARY = text(
    "The calculator is done: `calculator.py` has `add`, `subtract`, `multiply` and `divide`, and a "
    "command line (`python calculator.py 6 '*' 7`). The 7 tests in `test_calculator.py` pass. "
    "A trial run gave correct results; division by zero gives a clear message and exit code 1.",
    usage=tokens(986, 84),
)


async def record(workspace: str, recording: Path) -> str:
    """Run the task once with the turns above, and record them."""
    with ScriptedServer() as server:
        planned = calls(PLAN, usage=tokens(1120, 214))
        server.when(is_planner, planned)
        for step, turns in TURNS.items():
            server.when(is_step(step), *turns)
        server.when(is_summary, SUMMARY)
        context = Context(
            workspace=workspace, model="scripted", base_url=server.base_url, record=str(recording)
        )
        state = await build_flow(all_executors()).ainvoke({"request": TASK}, context=context)
        server.verify()
        return "\n".join([*state["results"], state["output"]])


def main() -> None:
    """Record the task in an empty workspace, and again in one where its files already exist."""
    with tempfile.TemporaryDirectory() as folder:
        parts = [Path(folder) / name for name in ("first.jsonl", "again.jsonl")]
        for part in parts:
            print(asyncio.run(record(f"{folder}/workspace", part)))  # noqa: T201
        RECORDING.write_text("".join(f"{line}\n" for line in join(parts)), "utf-8")


if __name__ == "__main__":
    os.environ.setdefault("NO_PROXY", "127.0.0.1")
    main()
