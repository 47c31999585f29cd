"""The graphs of integrations/harbor in Harbor's built-in agent `langgraph` and its runner."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.consumers.scene import Results, Scene, check, expect
from tests.server import call

PROJECT = Path(__file__).resolve().parents[2] / "integrations" / "harbor"
ANSWER = "Written."


async def run(_: str) -> Results:
    """Run the check that Harbor has: one request, without a person or a second one."""
    from harbor.agents.installed import langgraph_runner
    from harbor.agents.installed.langgraph import LangGraph

    results: Results = dict.fromkeys(("stream", "interrupt", "second request"), "not in Harbor")
    scene = Scene()
    create = {"command": "create", "path": "a.txt", "file_text": "1"}
    ends = call("terminate", status="success", answer=ANSWER)
    scene.server.script(call("str_replace_editor", create), ends)

    def call_a_tool() -> str:
        with tempfile.TemporaryDirectory() as name:
            agent = LangGraph(project_path=PROJECT, graph="swe", logs_dir=Path(name))
            instruction = Path(name, "instruction.txt")
            instruction.write_text("Write a file.")
            # Harbor copies it, too: the module beside it is named like the package `langgraph`
            runner = shutil.copy(langgraph_runner.__file__, name)
            command = [sys.executable, runner, "--project-dir", str(PROJECT)]
            command += ["--graph", agent.graph, "--graph-path", agent.graph_path]
            command += ["--instruction-file", str(instruction), "--model", "scripted"]
            for kind in ("result", "output", "summary"):
                command += [f"--{kind}-path", str(Path(name, kind))]
            work = Path(name, "work")
            work.mkdir()
            address = {"MANUS_BASE_URL": scene.server.base_url, "MANUS_APPROVE": "yolo"}
            process = subprocess.run(
                command,
                cwd=work,
                env={**os.environ, **address},
                capture_output=True,
                text=True,
                check=False,
            )
            if process.returncode:
                return process.stderr[-300:]
            summary: Any = json.loads(Path(name, "summary").read_text())
            wrong = expect(summary["answer_written"], ANSWER)
            return wrong or expect(str([*work.iterdir()]), "a.txt")

    await check("tool call", results, partial(asyncio.to_thread, call_a_tool))
    scene.server.close()
    return results
