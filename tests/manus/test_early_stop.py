"""Ctrl-C while the program starts: never lost, never a traceback."""

import os

import pytest

from tests.manus.program import Program
from tests.server import ScriptedServer

MOMENTS = ["manus.commands", "langgraph.graph"]
"""Modules whose import begins at the moment of the signal."""
HOOK = """\
import os, signal, sys, importlib.abc
class Moment(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == os.environ["MOMENT"] and "manus.cli" in sys.modules:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Moment())
"""


@pytest.mark.parametrize("moment", MOMENTS)
def test_at_any_moment_before_the_first_request(
    manus: Program, server: ScriptedServer, moment: str
) -> None:
    (manus.home / "sitecustomize.py").write_text(HOOK)
    path = f"{manus.home}{os.pathsep}{manus.environment['PYTHONPATH']}"
    result = manus.cold("run", "hello", PYTHONPATH=path, MOMENT=moment)
    assert (result.code, result.out) == (130, "")
    assert "Traceback" not in result.err
    assert server.requests == []
