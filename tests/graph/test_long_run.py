"""The work per step must not grow with the length of the run."""

import sys
from collections import Counter
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import and_
from pathlib import Path
from types import FrameType
from typing import Any

import manus
from tests.helpers.agent import TESTER, ScriptedAgent
from tests.server import call, calls, text

EARLY = 20
LATE = 60
WINDOW = 5
"""Steps of which the one with the fewest calls counts: how a reply is split into chunks varies."""
TOLERATED = 2
"""Allowed extra calls of one function in a late step."""
PACKAGE = str(Path(manus.__file__).parent)


async def test_a_late_step_enters_no_function_more_often_than_an_early_one(
    agent: ScriptedAgent,
) -> None:
    total: Counter[str] = Counter()
    steps: list[Counter[str]] = []

    def count(frame: FrameType, event: str, _: Any) -> None:
        # a call of a built-in function counts for the product's function that makes it
        if event in ("call", "c_call") and frame.f_code.co_filename.startswith(PACKAGE):
            total[frame.f_code.co_qualname] += 1

    async def note(line: str) -> str:
        """Note a line."""
        steps.append(total.copy())
        return f"Noted {line}."

    profile = replace(TESTER, tools=(note,))
    noter = ScriptedAgent(agent.server, agent.workspace, agent.saver, profile)
    notes = [calls(call("note", line=f"{number:04}")) for number in range(LATE + 1)]
    sys.setprofile(count)
    try:
        outcome = await noter.run(*notes, text("Done."), max_steps=LATE + 100)
    finally:
        sys.setprofile(None)
    assert outcome.success
    early, late = (fewest_calls(steps[last - WINDOW : last + 1]) for last in (EARLY, LATE))
    growth = {name: (early[name], n) for name, n in late.items() if n > early[name] + TOLERATED}
    assert growth == {}


def fewest_calls(totals: list[Counter[str]]) -> Counter[str]:
    """Return the fewest calls of each function in one of the steps between the totals."""
    steps = [after - before for before, after in pairwise(totals)]
    return reduce(and_, steps)
