"""A wheel built from a ZIP of the repository, in an environment with a user's own modules.

Most programs unpack a ZIP, as a code host offers it for download, without its symbolic links;
a clone on a file system without symbolic links has none, either.
"""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.helpers import sandboxes

ROOT = Path(__file__).resolve().parents[1]
USERS_MODULES = ("graph", "models", "nodes", "prompts", "state", "tools")
APP = """
import pathlib
import graph, models, nodes, prompts, state, tools
from manus import build_agent, build_flow
from manus.tools.bash import Bash
from manus.tools.skill import find_skills

assert "web-research" in find_skills(pathlib.Path())
assert {m.MINE for m in (graph, models, nodes, prompts, state, tools)} == {"the user's"}
print(build_agent("swe").name, build_flow.__name__, Bash.__module__)
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the repository's last commit, from a ZIP unpacked without symbolic links."""
    if not (ROOT / ".git").exists():
        pytest.skip("Not a git checkout: there is nothing to make the ZIP from.")
    folder = tmp_path_factory.mktemp("zip")
    archive = folder / "manus.zip"
    command = ["git", "archive", "--format=zip", f"--output={archive}", "HEAD"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    with zipfile.ZipFile(archive) as packed:  # writes the target of a link as the text of a file
        packed.extractall(folder / "manus")
    return folder / "manus"


@pytest.fixture(scope="module")
def python(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with the wheel and the packages that it needs."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    subprocess.run([*build, str(folder)], cwd=checkout, check=True, capture_output=True)
    [wheel] = folder.glob("manus_graph-*.whl")
    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    query = "import sysconfig; print(sysconfig.get_path('purelib'))"
    output = subprocess.run([python, "-c", query], check=True, capture_output=True, text=True)
    site = Path(output.stdout.strip())
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    # a path named in a .pth file: .pth files in that folder are not processed
    (site / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def run_python(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **sandboxes.environment()}
    return subprocess.run(
        [python, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.mark.exhaustive
def test_it_works_next_to_a_users_own_modules(python: Path, tmp_path: Path) -> None:
    for name in USERS_MODULES:
        (tmp_path / f"{name}.py").write_text('MINE = "the user\'s"\n')
    (tmp_path / "app.py").write_text(APP)
    app = run_python(python, tmp_path, "app.py")
    assert app.stdout == "swe build_flow manus.tools.bash\n", app.stderr
    demo = run_python(python, tmp_path, "-m", "manus", "demo", "calculator")
    assert (demo.returncode, "report.html" in demo.stderr) == (0, True), demo.stderr


def test_it_contains_only_the_package(checkout: Path, python: Path) -> None:
    site = next(python.parents[1].glob("lib/python*/site-packages"))
    installed = {path.name for path in site.iterdir() if path.name not in ("needed.pth",)}
    assert {name.split("-")[0] for name in installed} == {"manus", "manus_graph"}
    files = {path.relative_to(site) for path in (site / "manus").rglob("*") if path.is_file()}
    sources = {path.relative_to(checkout) for path in (checkout / "manus").rglob("*.*")}
    assert {path for path in files if path.suffix == ".py"} == {
        path for path in sources if path.suffix == ".py"
    }
    assert not [path for path in files if path.suffix == ".sqlite"]


@pytest.mark.exhaustive
def test_an_unpacked_zip_is_imported_as_it_is(checkout: Path) -> None:
    script = "import manus.graph; print(manus.graph.build_agent().name)"
    output = run_python(
        Path(sys.executable), checkout, "-P", "-c", f"import sys; sys.path.insert(0, '.'); {script}"
    )
    assert output.stdout == "manus\n", output.stderr
