"""The documentation: examples are correct, links resolve, commands run."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import manus
from manus.calls.catalog import BUILT_IN
from manus.config.profile import ProfileSettings
from manus.config.settings import Settings, load_settings
from manus.graph import build_agent, build_flow
from manus.state.usage import Budget
from scripts.import_openmanus import OF_A_MODEL, TABLE
from tests.helpers import sandboxes
from tests.helpers.pages import find_code_blocks

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def read_page(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def plain(text: str) -> str:
    """Return terminal output without seconds, which vary between runs."""
    return re.sub(r"\d+\.\d+ s", "– s", text)


def anchors(page: Path) -> set[str]:
    """Return the anchors in a page."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_reference_is_up_to_date(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["write_reference.py", "--check"])
    code = runpy.run_path(str(ROOT / "scripts" / "write_reference.py"))["main"]()
    assert (code, capsys.readouterr().out) == (0, ""), "run `make docs`"


_PUBLIC_MODULES = {"manus", "manus.middleware", "manus.notebook", "manus.scripted"}
_EXAMPLES = [*PAGES, *sorted((ROOT / "notebooks").glob("*.ipynb"))]


@pytest.mark.parametrize("file", _EXAMPLES, ids=lambda file: file.name)
def test_examples_import_public_modules_only(file: Path) -> None:
    imported = re.findall(r'^\s*"?from (manus[\w.]*) import', file.read_text("utf-8"), re.MULTILINE)
    assert {*imported} <= _PUBLIC_MODULES


@pytest.mark.parametrize("name", manus.__all__)
def test_each_public_name_exists_and_is_documented(name: str) -> None:
    value = getattr(manus, name)
    assert name in dir(manus)
    assert name in ("PROFILES", "__version__") or value.__doc__


def test_importing_the_package_imports_only_its_version() -> None:
    code = "import sys, manus; print(*(name for name in sys.modules if name.startswith('manus.')))"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout == "manus.version\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_resolves(page: Path, subtests: pytest.Subtests) -> None:
    text = re.sub(r"`[^`\n]+`", "", _FENCED.sub("", page.read_text(encoding="utf-8")))
    for link in {link for link in _LINK.findall(text) if not re.match("https?:|mailto:", link)}:
        with subtests.test(link=link):
            file, _, place = unquote(link).partition("#")
            target = (page.parent / file).resolve() if file else page
            assert target.exists(), f"{page.name} links to {link}, which does not exist"
            if place and target.suffix == ".md":
                assert place in anchors(target), (
                    f"{page.name}: {link} names a heading that does not exist on that page"
                )


def test_names_and_diagrams_in_the_architecture_are_correct() -> None:
    page = read_page("docs/architecture.md")
    paths = re.findall(r"`((?:graph|nodes|tools|state|prompts|models|manus|tests)/[\w./]*)`", page)
    assert len(paths) > 15
    assert [name for name in paths if not (ROOT / name).exists()] == []
    diagrams = [g.get_graph().draw_mermaid().strip() for g in (build_agent(), build_flow())]
    assert diagrams == [block.strip() for block in find_code_blocks(page, "mermaid")[1:]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_settings_in_examples_are_valid(
    page: Path, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    file = tmp_path / "manus.toml"
    for block in find_code_blocks(page.read_text("utf-8"), "toml"):
        with subtests.test(block=block):
            file.write_text(block)
            assert load_settings({}, file) != Settings(), block


def test_each_named_setting_exists() -> None:
    matches = re.findall(r"`MANUS_(\w+)`", read_page("README.md"))
    names = {*Settings.model_fields, *(f"budget_{name}" for name in Budget.model_fields)}
    assert {name.lower() for name in matches} <= names
    [profile] = find_code_blocks(read_page("docs/profiles.md"), "toml")
    settings = set(re.findall(r"^(\w+) = ", profile, re.MULTILINE))
    assert settings == set(ProfileSettings.model_fields) - {"next_step_prompt"}


def test_the_translation_is_in_step(subtests: pytest.Subtests) -> None:
    """Commands and link targets are the same in both READMEs, and so is their outline."""
    pages = read_page("README.md"), read_page("README.zh.md")
    for part in (_FENCED, re.compile(r"^#+ ", re.MULTILINE)):
        with subtests.test(part=part):
            english, chinese = (part.findall(page) for page in pages)
            assert english == chinese, "change README.md and README.zh.md together"
    links = [{*_LINK.findall(page)} for page in pages]
    assert links[0] ^ links[1] == {"README.md", "README.zh.md"}


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """Return an environment with the commands on its PATH, in a folder with the recordings."""
    clone, user = tmp_path / "clone", tmp_path / "home"
    (clone / ".git").mkdir(parents=True)  # a project, as the clone is
    user.mkdir()
    (clone / "manus").mkdir()
    (clone / "manus" / "recordings").symlink_to(ROOT / "manus" / "recordings")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(user), "PWD": str(clone), **sandboxes.environment()}


def ran(command: list[str], home: dict[str, str]) -> str:
    process = subprocess.run(
        command, cwd=home["PWD"], env=home, capture_output=True, text=True, timeout=100, check=False
    )
    output = process.stdout + process.stderr
    assert process.returncode == 0, (command, output)
    return plain(output)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_tutorial_works_as_written(home: dict[str, str], subtests: pytest.Subtests) -> None:
    folder = Path(home["PWD"])
    block = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    for language, text in block.findall(read_page("docs/tutorial.md")):
        with subtests.test(language=language, text=text):
            if language == "console":
                follow(text, home)
            elif language == "toml":
                (folder / "manus.toml").write_text(text)
            elif language == "python" and "asyncio.run" not in text:
                (folder / "my_tools.py").write_text(text)
            elif language == "python":
                output = ran([sys.executable, "-c", text], home).splitlines()
                assert output[:3] == ["think", "act", "stuck_check"]
                assert output[-1] == "terminated after 5 calls"
    assert (folder / "first.html").stat().st_size > 10_000


def follow(block: str, home: dict[str, str]) -> None:
    """Run each command of a block, and find each line below it in the output."""
    for part in block.split("$ ")[1:]:
        command, _, expected_output = part.partition("\n")
        output = ran(["bash", "-c", command], home)
        for line in filter(None, expected_output.split("\n")):
            expected = plain(line.strip().removesuffix("…").strip())
            assert expected in output, (command, line, output)


def test_openmanus_tools_and_settings_are_mapped_to_ours(subtests: pytest.Subtests) -> None:
    page = read_page("docs/openmanus.md")
    [tools] = re.findall(r"^## Tools\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\|[^|]*\|([^|]*)\|", tools, re.MULTILINE)[2:]
    matches = {word for ours in rows for word in re.findall(r"`([^`]+)`", ours)}
    assert len(matches) > 8
    assert matches - {"mcp_<server>_<tool>", "fetch_content", "extract_content"} <= set(BUILT_IN)
    for theirs, ours in TABLE.items():
        with subtests.test(theirs=theirs, ours=ours):
            row = rf"^\|[^|]*`{re.escape(theirs)}`[^|]*\|[^|]*`{re.escape(ours)}`"
            assert re.search(row, page, re.MULTILINE), theirs
    assert [name for name in OF_A_MODEL if f"`llm.{name}`" not in page] == []


RECORDING = ROOT / "manus" / "recordings" / "calculator.jsonl"


@pytest.mark.sandboxes
@pytest.mark.parametrize("code", find_code_blocks(read_page("README.md"), "python"))
def test_python_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MANUS_MODEL", f"replay:{RECORDING}")
    monkeypatch.setenv("MANUS_APPROVE", "yolo")  # without a sandbox, commands ask
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
    expected = "terminated 5 model calls" if "TASK" in code else "stuck_check"
    assert expected in capsys.readouterr().out


def test_the_thread_of_the_readme_is_rewound_in_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MANUS_MODEL", f"replay:{RECORDING}")
    monkeypatch.setenv("MANUS_APPROVE", "yolo")  # without a sandbox, commands ask
    [example] = [
        code for code in find_code_blocks(read_page("README.md"), "python") if "TASK" in code
    ]
    [code] = [c for c in find_code_blocks(read_page("docs/how-to.md"), "python") if "rewind" in c]
    for block in (example, code):
        exec(compile(block, "page", "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    assert "0 before the first step" in printed
    assert "calculator.py" in printed.partition("restored:")[0]
    assert "restored: test_calculator.py" in printed
    assert (tmp_path / "workspace" / "test_calculator.py").exists(), "the rewind was undone"
    assert {path.name for path in (tmp_path / "copy").glob("*.py")} == {"calculator.py"}


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.timeout(900)  # it includes the setup of a fresh machine
def test_the_first_commands_print_the_documented_output(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """`make run` in a fresh clone with an empty environment, then the calculator it created."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", ROOT, clone], check=True)
    bare = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **sandboxes.environment()}
    options: Any = {"cwd": clone, "env": bare, "capture_output": True, "text": True}
    ran = subprocess.run(["make", "run"], check=False, **options)
    printed = plain(ran.stderr + ran.stdout)
    assert ran.returncode == 0, printed
    transcript = (
        find_code_blocks(read_page("README.md"), "console")[0]
        .split("$ make run\n")[1]
        .split("\n$ ")[0]
    )
    for line in transcript.splitlines():
        with subtests.test(line=line):
            assert plain(line).removesuffix("…").rstrip() in printed
    sums = [sys.executable, "workspace/calculator.py", "6", "*", "7"]
    assert subprocess.run(sums, check=True, **options).stdout == "42\n"
