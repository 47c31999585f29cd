"""The README is run: its code, and its first commands."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.pages import blocks_of

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
RECORDING = ROOT / "recordings" / "calculator.jsonl"


@pytest.mark.parametrize("code", blocks_of(README, "python"))
def test_python_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MANUS_MODEL", f"replay:{RECORDING}")
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
    expected = "terminated 5 model calls" if "TASK" in code else "stuck_check"
    assert expected in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.timeout(900)  # the set-up of a fresh machine is part of it
def test_first_commands_print_what_is_shown(tmp_path: Path) -> None:
    """`make run` in a fresh clone with an empty environment, then the calculator it made."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", ROOT, clone], check=True)
    bare = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    given: Any = {"cwd": clone, "env": bare, "capture_output": True, "text": True}
    ran = subprocess.run(["make", "run"], check=False, **given)
    printed = plain(ran.stderr + ran.stdout)
    assert ran.returncode == 0, printed
    shown = blocks_of(README, "console")[0].split("$ make run\n")[1].split("\n$ ")[0]
    for line in shown.splitlines():
        assert plain(line).removesuffix("…").rstrip() in printed
    sums = [sys.executable, "workspace/calculator.py", "6", "*", "7"]
    assert subprocess.run(sums, check=True, **given).stdout == "42\n"


def plain(shown: str) -> str:
    """What a terminal shows, with seconds, which differ from run to run, left out."""
    return re.sub(r"\d+\.\d+ s", "– s", shown)
