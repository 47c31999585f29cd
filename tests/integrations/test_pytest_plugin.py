"""The plugin for pytest: replies of any graph's models are recorded once, and then replayed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.child import ROOT
from tests.server import Scripted, ScriptedServer, call, text

SUITE = '''
import os
from pathlib import Path
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import START, StateGraph, add_messages
from langgraph.prebuilt import ToolNode, tools_condition

from manus import Context, build_agent

SYSTEM = "Read the file."
MODEL = dict(model="scripted", base_url=os.environ["SERVER"], api_key="x", max_retries=0)


class State(TypedDict):
    messages: Annotated[list, add_messages]


def build(folder, streams):
    def read(name: str) -> str:
        """Read a file."""
        return f"{folder / name}: {(folder / name).read_text()}"

    model = ChatOpenAI(**MODEL).bind_tools([read])

    def think(state: State):
        messages = [SystemMessage(SYSTEM), *state["messages"]]
        if not streams:
            return {"messages": model.invoke(messages)}
        whole = None
        for chunk in model.stream(messages):
            whole = chunk if whole is None else whole + chunk
        return {"messages": whole}

    graph = StateGraph(State)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode([read]))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    return graph.compile()


def test_plain(graph_recording, tmp_path):
    (tmp_path / "a.txt").write_text("one")
    state = build(tmp_path, False).invoke({"messages": [("user", "What is in a.txt?")]})
    assert state["messages"][1].tool_calls


def test_streamed(graph_recording, tmp_path):
    (tmp_path / "a.txt").write_text("one")
    pieces = build(tmp_path, True).stream(
        {"messages": [("user", "And in a.txt?")]}, stream_mode="messages"
    )
    assert "".join(m.text for m, _ in pieces if not isinstance(m, ToolMessage)) == "One, too."


def test_ours(graph_recording, tmp_path):
    (tmp_path / "a.txt").write_text("one")
    graph = build_agent("swe", checkpointer=None)
    context = Context(
        model="scripted", base_url=MODEL["base_url"], workspace=str(tmp_path), approve="yolo"
    )
    state = graph.invoke({"request": "Show a.txt."}, context=context)
    assert state["output"] == "It is one."
'''
REPLIES: list[Scripted] = [
    call("read", name="a.txt"),
    text("One."),
    call("read", name="a.txt"),
    text("One, too."),
    call("bash", command="cat a.txt"),
    call("terminate", status="success", answer="It is one."),
]


class Suite:
    """A project with a test file, run by a pytest of its own."""

    def __init__(self, folder: Path, server: ScriptedServer) -> None:
        self.file = folder / "test_graphs.py"
        self.recordings = folder / "recordings" / "test_graphs"
        self._variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "MANUS_API_KEY": "x",
            "MANUS_RETRY_FOR": "0",
            "SERVER": server.base_url,
        }

    def run(self, source: str, *options: str) -> str:
        self.file.write_text(source)
        plugin = ["-p", "integrations.pytest.plugin", "-p", "no:cacheprovider", "-q"]
        plugin += ["--basetemp", str(self.file.parent / "temporary")]
        process = subprocess.run(
            [sys.executable, "-m", "pytest", *plugin, *options, str(self.file)],
            env=self._variables,
            cwd=self.file.parent,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode in (0, 1), process.stdout + process.stderr
        return process.stdout


@pytest.fixture
def suite(tmp_path: Path, server: ScriptedServer) -> Suite:
    return Suite(tmp_path, server)


@pytest.mark.slow
def test_record_replay_and_the_first_difference(
    suite: Suite, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    missing = suite.run(SUITE)
    assert "3 errors" in missing
    assert "record it once with `pytest --graph-record`." in missing
    server.script(*REPLIES)
    assert "3 passed" in suite.run(SUITE, "--graph-record")
    paid = len(server.requests)
    assert paid == len(REPLIES)
    names = ["test_ours", "test_plain", "test_streamed"]
    assert sorted(file.stem for file in suite.recordings.iterdir()) == names
    changes = {
        "the same": ("", "", ()),
        "a file": ('write_text("one")', 'write_text("two")', names),
        "the system prompt": ("Read the file.", "Read the files.", names[1:]),
        "a request": ("What is in", "What is inside", names[1:2]),
        "fewer steps": ('graph.add_edge("tools", "think")', "", names[1:]),
    }
    reports = {
        "a file": ("Step 1 differs in its observation:", "+<workspace>/a.txt: two"),
        "the system prompt": ("Step 1 differs in its request:", "+Read the files."),
        "a request": ("Step 1 differs in its request:", "+What is inside a.txt?"),
        "fewer steps": ("Step 2 differs in its end:", "+The graph ended with 1"),
    }
    for change, (old, new, failed) in changes.items():
        with subtests.test(change=change):
            output = suite.run(SUITE.replace(old, new) if old else SUITE)
            assert [name for name in names if f"::{name}" in output] == [*failed], output
            title, line = reports.get(change, ("", ""))
            assert output.count(title) >= len(failed), output
            assert line in output
            assert "During handling" not in output, "the difference is shown alone"
    assert len(server.requests) == paid, "no model is asked in a replay"
