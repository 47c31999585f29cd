"""The tutorial is done as it is written, and what the other pages show is right."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from manus.state.settings import Settings, load_settings

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SECONDS = re.compile(r"\d+\.\d+ s")


def blocks(page: str) -> list[tuple[str, str]]:
    """The blocks of a page: their language and text."""
    return _BLOCK.findall((DOCS / page).read_text("utf-8"))


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment with the commands in its path, in a folder with the recordings."""
    clone, user = tmp_path / "clone", tmp_path / "home"
    (clone / ".git").mkdir(parents=True)  # a project, as the clone is
    user.mkdir()
    (clone / "recordings").symlink_to(ROOT / "recordings")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(user), "PWD": str(clone)}


def ran(command: list[str], home: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=home["PWD"], env=home, capture_output=True, text=True, timeout=100, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, (command, said)
    return _SECONDS.sub("– s", said)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_tutorial_is_done_as_written(home: dict[str, str]) -> None:
    folder = Path(home["PWD"])
    for language, text in blocks("tutorial.md"):
        if language == "console":
            follow(text, home)
        elif language == "toml":
            (folder / "manus.toml").write_text(text)
        elif language == "python" and "asyncio.run" not in text:
            (folder / "my_tools.py").write_text(text)
        elif language == "python":
            said = ran([sys.executable, "-c", text], home).splitlines()
            assert said[:3] == ["think", "act", "stuck_check"]
            assert said[-1] == "terminated after 5 calls"
    assert (folder / "first.html").stat().st_size > 10_000


def follow(block: str, home: dict[str, str]) -> None:
    """Type each command of a block, and find each line below it in what it prints."""
    for part in block.split("$ ")[1:]:
        command, _, shown = part.partition("\n")
        said = ran(["bash", "-c", command], home)
        for line in filter(None, shown.split("\n")):
            expected = _SECONDS.sub("– s", line.strip().removesuffix("…").strip())
            assert expected in said, (command, line, said)


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_settings_that_a_page_shows_are_settings(page: str, tmp_path: Path) -> None:
    file = tmp_path / "manus.toml"
    for language, text in blocks(page):
        if language == "toml":
            file.write_text(text)
            assert load_settings({}, file) != Settings(), text
