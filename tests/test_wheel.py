"""The wheel, in an environment of its own beside a user's modules of the same names as ours."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import sandboxes

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("graph", "nodes", "tools", "state", "prompts", "models")
APP = """
import pathlib
import graph, models, nodes, prompts, state, tools
from manus import build_agent, build_flow
from manus.tools.bash import Bash
from manus.tools.skill import skills_of

assert "web-research" in skills_of(pathlib.Path())
assert {m.MINE for m in (graph, models, nodes, prompts, state, tools)} == {"the user's"}
print(build_agent("swe").name, build_flow.__name__, Bash.__module__)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the wheel, and the packages that it needs."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    subprocess.run([*build, str(folder)], cwd=ROOT, check=True, capture_output=True)
    [wheel] = folder.glob("manus-*.whl")
    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    said = subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True)
    site = Path(said.stdout.strip())
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    # a path named in a file of the environment: files there that name more paths do not count
    (site / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def test_it_works_beside_a_users_own_modules(python: Path, tmp_path: Path) -> None:
    for room in ROOMS:
        (tmp_path / f"{room}.py").write_text('MINE = "the user\'s"\n')
    (tmp_path / "app.py").write_text(APP)
    own = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **sandboxes.environment()}
    given: Any = {"cwd": tmp_path, "env": own}
    given |= {"capture_output": True, "text": True, "timeout": 200, "check": False}
    done = subprocess.run([python, "app.py"], **given)
    assert done.stdout == "swe build_flow manus.tools.bash\n", done.stderr
    done = subprocess.run([python, "-m", "manus", "demo", "calculator"], **given)
    assert (done.returncode, "report.html" in done.stderr) == (0, True), done.stderr


def test_it_holds_the_package_and_nothing_else(python: Path) -> None:
    site = next(python.parents[1].glob("lib/python*/site-packages"))
    found = {path.name for path in site.iterdir() if "manus" in path.name or path.name in ROOMS}
    assert {name.split("-")[0] for name in found} == {"manus"}
    assert all((site / "manus" / room / "__init__.py").is_file() for room in ROOMS)
    assert not list((site / "manus").rglob("*.sqlite"))
