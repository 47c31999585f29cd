"""`scripts/setup.sh`, with a `uv` that only notes what it was asked."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
UV = """\
#!/bin/sh
mkdir ../busy 2>/dev/null || echo overlap >>../log
echo "$1 $2" >>../log
case $1 in venv) mkdir -p .venv/bin; ln -s "$(command -v python3)" .venv/bin/python;; esac
sleep 0.1  # what an installation takes
rmdir ../busy
"""


def test_two_at_once_do_not_meet(tmp_path: Path) -> None:
    folder, programs = tmp_path / "checkout", tmp_path / "bin"
    for part in ("scripts", "requirements"):
        shutil.copytree(ROOT / part, folder / part)
    shutil.copy(ROOT / "pyproject.toml", folder)
    programs.mkdir()
    (programs / "uv").write_text(UV)
    (programs / "uv").chmod(0o755)
    environment = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
    command = [str(folder / "scripts/setup.sh"), "run"]
    both = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for _ in range(2)]
    said = [process.communicate(timeout=120)[1].decode() for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    log = (tmp_path / "log").read_text().splitlines()
    assert "overlap" not in log
    assert sum(line.startswith("venv") for line in log) == 1
