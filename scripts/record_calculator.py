"""Write `manus/recordings/calculator.jsonl`: `python -m scripts.record_calculator`.

The turns are written by hand and sent by the scripted server of the tests; only the output of the
tools is real. Where the recording is played, it is labeled as that of a scripted model.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

from manus.cli.commands.demo import DEMOS
from manus.config.context import Context
from manus.graph import build_agent
from tests.server import ScriptedServer, call, calls, tokens

TASK = DEMOS["calculator"].request
RECORDING = Path("manus/recordings/calculator.jsonl")

CALCULATOR = '''\
"""A simple calculator: four functions, and a command line for them."""

import sys


def add(a: float, b: float) -> float:
    return a + b


def subtract(a: float, b: float) -> float:
    return a - b


def multiply(a: float, b: float) -> float:
    return a * b


def divide(a: float, b: float) -> float:
    if b == 0:
        raise ValueError("cannot divide by zero")
    return a / b


OPERATIONS = {"+": add, "-": subtract, "*": multiply, "/": divide}


def calculate(expression: str) -> float:
    """The value of `number operator number`, such as `6 * 7`."""
    try:
        left, operator, right = expression.split()
        operation = OPERATIONS[operator]
        numbers = float(left), float(right)
    except (ValueError, KeyError):
        raise ValueError(f"cannot read {expression!r}; write it as: 6 * 7") from None
    return operation(*numbers)


def main(arguments: list[str]) -> int:
    try:
        print(f"{calculate(' '.join(arguments)):g}")
    except ValueError as error:
        print(f"calculator: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
'''

TESTS = """\
import unittest

from calculator import add, calculate, divide, multiply, subtract


class CalculatorTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)
        self.assertAlmostEqual(add(0.1, 0.2), 0.3)

    def test_subtract(self):
        self.assertEqual(subtract(2, 3), -1)

    def test_multiply(self):
        self.assertEqual(multiply(-4, 2.5), -10)

    def test_divide(self):
        self.assertEqual(divide(9, 3), 3)

    def test_divide_by_zero(self):
        with self.assertRaises(ValueError):
            divide(1, 0)

    def test_calculate(self):
        self.assertEqual(calculate("6 * 7"), 42)

    def test_calculate_nonsense(self):
        for expression in ("", "1 +", "1 ^ 2", "one + two"):
            with self.assertRaises(ValueError):
                calculate(expression)


if __name__ == "__main__":
    unittest.main()
"""

RUN_TESTS = "import unittest\n\nunittest.main(module='test_calculator', argv=['tests'])\n"
TRY_OUT = """\
from calculator import calculate, main

for expression in ("1.5 + 2", "7 - 10", "6 * 7", "1 / 8"):
    print(expression, "=", format(calculate(expression), "g"))
print("exit code of 1 / 0:", main(["1", "/", "0"]))
"""
SUMMARY = """\
The calculator is done: `calculator.py` has `add`, `subtract`, `multiply` and `divide`, and a \
command line (`python calculator.py 6 '*' 7`). The 7 tests in `test_calculator.py` pass. Division \
by zero and invalid input give a clear message and exit code 1.\
"""

TURNS = [
    calls(
        call("str_replace_editor", command="create", path="calculator.py", file_text=CALCULATOR),
        text="I'll start with the calculator itself: four functions, and a small command line, so "
        "that it can be run as well as imported.",
        usage=tokens(1312, 402),
    ),
    calls(
        call("str_replace_editor", command="create", path="test_calculator.py", file_text=TESTS),
        text="Now the tests, with the cases that usually go wrong: fractions, division by zero and "
        "nonsensical input.",
        usage=tokens(1766, 331, cached=1280),
    ),
    calls(
        call("python_execute", code=RUN_TESTS),
        text="Now run the tests.",
        usage=tokens(2141, 48, cached=1664),
    ),
    calls(
        call("python_execute", code=TRY_OUT),
        call("bash", command="ls calculator.py test_calculator.py"),
        text="All tests pass. Let me try it as a user would, and check the workspace.",
        usage=tokens(2297, 121, cached=2048),
    ),
    calls(call("terminate", status="success"), text=SUMMARY, usage=tokens(2502, 118, cached=2176)),
]


async def record(workspace: str, recording: Path) -> str:
    """Run the task once with the turns above, and record them."""
    with ScriptedServer() as server:
        server.script(*TURNS)
        context = Context(
            workspace=workspace, model="scripted", base_url=server.base_url, record=str(recording)
        )
        state = await build_agent().ainvoke({"request": TASK}, context=context)
        server.verify()
        return "\n".join([*state["results"], state["output"]])


def join(parts: list[Path]) -> list[str]:
    """Merge the lines of recordings; each names the turn that it follows by its number."""
    lines: list[str] = []
    for part in parts:
        offset = len(lines)
        for line in part.read_text("utf-8").splitlines():
            turn = json.loads(line)
            if turn["after"] is not None:
                turn["after"] += offset
            lines.append(json.dumps(turn, ensure_ascii=False))
    return lines


def main() -> None:
    """Record the task in an empty workspace, and again in one where its files already exist."""
    with tempfile.TemporaryDirectory() as folder:
        parts = [Path(folder) / name for name in ("first.jsonl", "again.jsonl")]
        for part in parts:
            sys.stdout.write(asyncio.run(record(f"{folder}/workspace", part)) + "\n")
        RECORDING.write_text("".join(f"{line}\n" for line in join(parts)), "utf-8")


if __name__ == "__main__":
    os.environ.setdefault("NO_PROXY", "127.0.0.1")
    main()
