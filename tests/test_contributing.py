"""The claims of CONTRIBUTING.md: hooks that run the same as `make check`, markers, coverage."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.helpers.sandboxes import Kind, default_kind

ROOT = Path(__file__).parents[1]
FROM_OTHERS = {"benchmark", "vcr"}
# run as a program, and imported in a process of the fork server
MODULES = ["manus/__main__.py", "manus/state/plan.py"]
PROBE = """
import multiprocessing, os, subprocess, sys

def use_package():
    import manus.state.plan
    os._exit(0)

if __name__ == "__main__":
    subprocess.run([sys.executable, "-m", "manus", "--version"], check=True, cwd="/")
    child = multiprocessing.get_context("forkserver").Process(target=use_package)
    child.start()
    child.join()
"""


def test_hooks_run_what_make_check_runs() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    [recipe] = re.findall(r"^check:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    checks = re.findall(r"^\t\$\(BIN\)/(.+?)(?: \.)?$", recipe, re.MULTILINE)
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]
    commands = [hook["entry"].removeprefix(".venv/bin/") for hook in hooks]
    assert [command.removesuffix(" --force-exclude") for command in commands] == checks
    assert {hook["language"] for hook in hooks} == {"system"}, "no hook needs the network"


def test_each_marker_is_explained() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    markers = settings["tool"]["pytest"]["ini_options"]["markers"]
    names = {re.split(r"\W", marker)[0] for marker in markers}
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)", page, re.MULTILINE)
    assert names - FROM_OTHERS == set(rows)


def test_ci_runs_every_row_with_every_sandbox() -> None:
    script = (ROOT / ".ci/run").read_text("utf-8")
    assert re.findall(r"^run_tests '?ARGS=([^']*)'?$", script, re.MULTILINE) == [
        "--all-sandboxes --exhaustive"
    ]


@pytest.mark.exhaustive
def test_an_exhaustive_row(request: pytest.FixtureRequest) -> None:
    assert request.config.getoption("exhaustive")


@pytest.mark.sandboxes
@pytest.mark.sample(landlock=["short"], none=["short"])
@pytest.mark.parametrize("row", ["short", "long"])
def test_a_sample(request: pytest.FixtureRequest, sandbox_kind: Kind, row: str) -> None:
    is_short = row == "short" or sandbox_kind == default_kind()
    assert is_short or request.config.getoption("exhaustive")


@pytest.fixture(scope="module")
def executed_lines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Measure the probe and return the number of executed lines of each module."""
    folder = tmp_path_factory.mktemp("coverage")
    (folder / "probe.py").write_text(PROBE)
    # a test run that is itself measured has coverage settings in the environment
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment["COVERAGE_RCFILE"] = str(ROOT / "pyproject.toml")
    environment["COVERAGE_FILE"] = str(folder / "data")
    report = ["json", "-o", "report.json", "--include", ",".join(f"*/{name}" for name in MODULES)]
    for arguments in (["run", "probe.py"], ["combine"], report):
        command = [sys.executable, "-m", "coverage", *arguments]
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    files = json.loads((folder / "report.json").read_text())["files"]
    return {str(Path(name).relative_to(ROOT)): len(files[name]["executed_lines"]) for name in files}


@pytest.mark.parametrize("module", MODULES)
def test_coverage_includes_child_processes(module: str, executed_lines: dict[str, int]) -> None:
    assert executed_lines[module] > 1, "only a child process imports it"
