"""What type checkers know of the results of `invoke` and `ainvoke`."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

from manus.state.agent import AgentOutput
from manus.state.flow import FlowOutput
from manus.state.results import AgentResult, FlowResult

ROOT = Path(__file__).parents[2]
SAMPLE = """\
from typing import Any

from manus import build_agent, build_flow


class More:
    colour: str


async def run() -> None:
    agent = build_agent()
    result = await agent.ainvoke({"request": "Hi."}, context={"max_steps": 3})
    print(result["output"].upper(), result["usage"]["input_tokens"])
    print(result["outptu"])
    print(agent.invoke({"request": "Hi."})["sucess"])
    flow = build_flow()
    report = await flow.ainvoke({"request": "Hi."})
    print(report["plan"]["steps"], report["todos"], report["__interrupt__"][0].value)
    print(report["plna"])
    print((await build_agent(state_schema=More).ainvoke({"request": "Hi."}))["colour"])
    values: Any = await agent.ainvoke({"request": "Hi."}, output_keys=["plans"])
    print(values["plans"])
"""
MISSPELT = {14: "outptu", 15: "sucess", 19: "plna"}


def test_mypy_reports_a_misspelt_key(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text(SAMPLE)
    config = ["--config-file", str(ROOT / "pyproject.toml")]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *config, "--no-pretty", str(sample)],
        cwd=ROOT,
        env={**os.environ, "MYPY_CACHE_DIR": str(ROOT / ".mypy_cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    pattern = re.compile(r'sample\.py:(\d+): error: .* has no key "(\w+)"')
    assert {int(line): key for line, key in pattern.findall(checked.stdout)} == MISSPELT
    assert checked.stdout.count(": error: ") == len(MISSPELT), checked.stdout


@pytest.mark.parametrize(
    ("result", "output"), [(AgentResult, AgentOutput), (FlowResult, FlowOutput)]
)
def test_a_result_has_the_keys_of_the_output(result: type, output: type) -> None:
    assert get_type_hints(result).keys() == {*get_type_hints(output), "__interrupt__"}
