"""The faults of the reference that concern the agent, by their numbers.

Those that are not here are what other tests are about: 1, 3 and 4 test_agent, 2
nodes/test_think, 6 nodes/test_request, 7 test_compaction, 15 test_usage, 18 and 22
test_run_graph.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from langchain_core.messages import ToolMessage

from tests.helpers.agent import ScriptedAgent
from tests.server import call, text

ROOT = Path(__file__).parents[2]


@pytest.mark.environ(MANUS_VISION="false")
async def test_fault_16_where_they_are_left_out_a_line_says_so(agent: ScriptedAgent) -> None:
    await agent.run(call("picture"), text("I cannot see it."))
    sent = agent.server.requests[1]
    assert "image_url" not in json.dumps(sent.body)
    assert "image was left out" in sent.text
    [seen] = [m for m in await agent.messages() if isinstance(m, ToolMessage)]
    assert isinstance(seen.content, list), "the history still has it, for a model that can see"


def test_fault_23_it_starts_as_shipped(tmp_path: Path) -> None:
    """Importing it and drawing it needs no setting, no key and no network, and reads no file."""
    (tmp_path / "manus.toml").write_text("this is not TOML")
    script = (
        "from graph import build_agent\n"
        "import manus.graph.flow, manus.graph.served\n"
        "from manus.graph.profiles import PROFILES\n"
        "for name in PROFILES:\n"
        "    print(build_agent(name).get_graph().draw_mermaid().count('think'))\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.split()
    assert [file.name for file in tmp_path.iterdir()] == ["manus.toml"], "nothing is written"
