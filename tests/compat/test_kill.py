"""A process that is killed inside a wrapped tool call, and one that resumes."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.exhaustive

PROGRAM = '''
import os, signal, sys
from pathlib import Path

from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from manus import build_agent
from manus.scripted import ScriptedModel, call

EFFECTS = Path("effects")
EFFECTS.touch()


def pay(to: str) -> str:
    """Pay."""
    with EFFECTS.open("a") as file:
        file.write(f"{to}\\n")
    attempt = len(EFFECTS.read_text().splitlines())
    if attempt == 1:
        raise ConnectionError("no answer")
    os.kill(os.getpid(), signal.SIGKILL)


is_new = sys.argv[1] == "start"
model = ScriptedModel()
model.script(*([call("pay", to="北京")] if is_new else []), AIMessage("Done."))
retry = ToolRetryMiddleware(max_retries=5, initial_delay=0)
with SqliteSaver.from_conn_string("threads.db") as saver:
    agent = build_agent(model, [pay], middleware=[retry], checkpointer=saver)
    thread = {"configurable": {"thread_id": "t"}}
    result = agent.invoke({"request": "Pay."} if is_new else None, thread)
    print(result["messages"][-2].text)
'''


def run(folder: Path, mode: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, mode]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


def test_an_attempt_in_progress_is_not_repeated(tmp_path: Path) -> None:
    assert run(tmp_path, "start").returncode == -signal.SIGKILL
    second = run(tmp_path, "resume")
    assert (tmp_path / "effects").read_text("utf-8").splitlines() == ["北京", "北京"]
    assert "may have taken effect" in second.stdout, second.stderr
