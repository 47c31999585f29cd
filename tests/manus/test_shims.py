"""`python main.py` and `python run_flow.py`: real processes, of whichever Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.server import ScriptedServer, call, calls, mentions, text

ROOT = Path(__file__).resolve().parents[2]
_ROOMS = ("graph", "nodes", "tools", "state", "prompts", "manus")


def run(
    script: Path,
    *arguments: str,
    home: Path,
    python: tuple[str, ...] = (sys.executable,),
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*python, str(script), *arguments],
        cwd=home,
        env={"PATH": os.defpath, "HOME": str(home), "NO_PROXY": "127.0.0.1", **(environment or {})},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def model(server: ScriptedServer) -> dict[str, str]:
    return {"MANUS_MODEL": "scripted", "MANUS_BASE_URL": server.base_url}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The repository as it is before it was set up: without `.venv`."""
    clone = tmp_path / "clone"
    clone.mkdir()
    for script in ("main.py", "run_flow.py"):
        shutil.copy(ROOT / script, clone)
    for room in _ROOMS:
        shutil.copytree(ROOT / room, clone / room, ignore=shutil.ignore_patterns("__pycache__"))
    return clone


def test_a_prompt_as_an_option(server: ScriptedServer, tmp_path: Path) -> None:
    server.script(text("Done."))
    done = run(ROOT / "main.py", "--prompt", "--do it", home=tmp_path, environment=model(server))
    assert (done.returncode, done.stdout) == (0, "Done.\n")
    assert server.requests[-1].messages[-2]["content"] == "--do it"
    assert (tmp_path / "workspace").is_dir()


def test_a_flow(server: ScriptedServer, tmp_path: Path) -> None:
    plan = call("planning", command="create", plan_id="p", title="T", steps=["Say hello"])
    server.when(mentions("You plan work that others carry out"), plan)
    server.when(
        mentions("Your step is number 0:"),
        calls(call("terminate", status="success"), text="Said."),
    )
    server.when(mentions("You sum up finished work"), text("All is done."))
    done = run(ROOT / "run_flow.py", home=tmp_path, stdin="Say hello.", environment=model(server))
    assert (done.returncode, done.stdout) == (0, "All is done.\n"), done.stderr
    assert "step 0" in done.stderr


def test_another_python_is_replaced_by_the_environment_s(
    clone: Path, server: ScriptedServer, tmp_path: Path
) -> None:
    (clone / ".venv").symlink_to(sys.prefix)
    server.script(text("Done."))
    # without site-packages it is a Python that has nothing of what the program needs
    bare = (sys.executable, "-S")
    script = clone / "main.py"
    done = run(
        script, "--prompt", "x  'y' \"", home=tmp_path, python=bare, environment=model(server)
    )
    assert (done.returncode, done.stdout) == (0, "Done.\n"), done.stderr
    assert server.requests[-1].messages[-2]["content"] == "x  'y' \""


def test_another_python_without_an_environment_says_what_to_do(clone: Path, tmp_path: Path) -> None:
    script = clone / "main.py"
    done = run(script, "--prompt", "x", home=tmp_path, python=(sys.executable, "-S"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"manus: This Python lacks what the program needs; run `make setup` in {clone} once "
        "(it makes .venv, with Python 3.11 or newer), then try again.\n"
    )
