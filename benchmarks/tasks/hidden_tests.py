"""Run tests that the agent has not seen against the repository that it left, as SWE-bench does.

Imported by the `check.py` of such a task, whose `hidden/` contains the tests.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_SECONDS = 10
_PROGRAM = """
import json, sys, unittest
folder, names = sys.argv[1], sys.argv[2:]
sys.path[:0] = [".", folder]
failed = []
for name in names:
    suite = unittest.defaultTestLoader.loadTestsFromName(name)
    result = unittest.TestResult()
    suite.run(result)
    if not result.wasSuccessful() or not result.testsRun:
        failed.append(name)
print(json.dumps(failed))
"""


def run_hidden_tests(
    folder: Path, fail_to_pass: Sequence[str], pass_to_pass: Sequence[str]
) -> None:
    """Exit with a sentence if a test fails that has to pass.

    `fail_to_pass` describe the issue; `pass_to_pass` passed before, and still have to.
    """
    names = [*fail_to_pass, *pass_to_pass]
    command = [sys.executable, "-B", "-E", "-S", "-c", _PROGRAM, str(folder / "hidden"), *names]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        failed = json.loads(run.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        sys.exit("the tests do not finish")
    except (IndexError, ValueError):
        sys.exit("the tests could not be run: " + run.stderr.strip()[-200:])
    broken = [name for name in failed if name in pass_to_pass]
    if broken:
        sys.exit(f"these tests passed before: {', '.join(broken)}")
    if failed:
        sys.exit(f"the issue remains: {', '.join(failed)}")
