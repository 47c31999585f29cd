"""The command line on machines without the stronger sandbox, and without any."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import Program, Result
from tests.helpers import machine
from tests.helpers.child import ROOT
from tests.server import ScriptedServer, call, text

UNPROTECTED = "(sandbox: landlock, which does not protect git data and start-up files"
STRONGER = "bubblewrap is stronger, but"
NO_MODEL = {"MANUS_MODEL": "", "MANUS_BASE_URL": ""}
"""For `doctor`, which otherwise tries the model."""
FORBIDDEN = "does not start (bwrap: "


def on_machine(*lacking: str) -> list[str]:
    """Return the command prefix that simulates a machine without these features."""
    return [sys.executable, str(Path(machine.__file__)), ",".join(lacking)]


def path_without(folder: Path, name: str) -> str:
    """Return a search path with all programs except one."""
    folder.mkdir()
    for place in map(Path, reversed(os.environ["PATH"].split(os.pathsep))):
        for program in place.iterdir() if place.is_dir() else ():
            if program.name != name and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    return str(folder)


def sandbox_finding(doctor: Result) -> str:
    """Return the line of `manus doctor` about the sandbox."""
    lines = doctor.out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.split()[1:2] == ["sandbox"])
    last = next(i for i, line in enumerate(lines) if line.split()[1:2] == ["browser"])
    return " ".join(" ".join(lines[first:last]).split())


def work(program: Program, server: ScriptedServer, by: list[str], **environment: str) -> Result:
    """Execute a run whose model calls the shell once."""
    server.script(call("bash", command="echo work > done.txt"), text("Done."))
    return program.cold("run", "Do it.", by=by, **environment)


@pytest.mark.sandboxes("bubblewrap")
def test_the_bubblewrap_of_manus_is_used_if_the_system_has_none(
    manus: Program, server: ScriptedServer
) -> None:
    environment = {"MANUS_SANDBOX": "auto", "PATH": path_without(manus.home / "bin", "bwrap")}
    server.script(call("bash", command="echo work > done.txt"), text("Done."))
    result = manus("run", "Do it.", **environment)
    assert (result.code, (manus.workspace / "done.txt").read_text()) == (0, "work\n"), result.err
    assert "(sandbox: bubblewrap" in result.err.partition("\n")[0]


@pytest.mark.sandboxes("landlock")
def test_landlock_is_used_if_user_namespaces_are_forbidden(
    manus: Program, server: ScriptedServer
) -> None:
    """As on Ubuntu 24.04, with a bubblewrap that fails as it does there."""
    fails = manus.home / "bin" / "bwrap"
    fails.parent.mkdir()
    fails.write_text('#!/bin/sh\necho "bwrap: setting up uid map: Permission denied" >&2; exit 1\n')
    fails.chmod(0o755)
    environment = {
        "MANUS_SANDBOX": "auto",
        "PATH": f"{fails.parent}{os.pathsep}{os.environ['PATH']}",
    }
    result = work(manus, server, on_machine(machine.NAMESPACES), **environment)
    assert (result.code, (manus.workspace / "done.txt").read_text()) == (0, "work\n"), result.err
    assert f"{UNPROTECTED}; {STRONGER} {FORBIDDEN}setting up uid map" in result.err
    by = on_machine(machine.NAMESPACES)
    finding = sandbox_finding(manus.cold("doctor", by=by, **environment, **NO_MODEL))
    assert f"Bubblewrap isolates more, but {FORBIDDEN}setting up uid map" in finding


def test_without_any_each_command_asks_and_the_remedy_is_named(
    manus: Program, server: ScriptedServer
) -> None:
    by = on_machine(machine.NAMESPACES, machine.LANDLOCK)
    result = work(manus, server, by, MANUS_SANDBOX="auto")
    assert not (manus.workspace / "done.txt").exists()
    first = result.err.partition("\n")[0]
    assert "(no sandbox: each command asks first, unless a rule allows it; see `manus d" in first
    assert "no sandbox confines it, so it can read and change all your files" in result.out
    [thread] = re.findall(r"manus resume (\w+)", result.err)
    resumed = manus.cold("resume", thread, "--answer", "yes", by=by, MANUS_SANDBOX="auto")
    assert (manus.workspace / "done.txt").read_text() == "work\n", resumed.err
    finding = sandbox_finding(manus.cold("doctor", by=by, MANUS_SANDBOX="auto", **NO_MODEL))
    assert finding.startswith("MISSING sandbox No sandbox works here: bubblewrap")
    assert "and the kernel has no Landlock" in finding
    assert "each command then needs your approval" in finding


@pytest.mark.parametrize("allow", [[], ["--allow", "bash"]])
def test_without_a_sandbox_a_rule_allows_commands(
    manus: Program, server: ScriptedServer, allow: list[str]
) -> None:
    """Python is asked about, too; with `refuse`, what asks is not executed."""
    code = "open('python.txt', 'w').write('x')"
    server.script(
        call("bash", command="echo work > done.txt"),
        call("python_execute", code=code),
        text("Done."),
    )
    options = ("--approve", "refuse", *allow)
    result = manus("run", *options, "Do it.", MANUS_SANDBOX="none")
    assert (manus.workspace / "done.txt").exists() == bool(allow), result.err
    assert not (manus.workspace / "python.txt").exists()


def test_the_suite_passes_and_reports_what_was_skipped(tmp_path: Path) -> None:
    """One of its tests, which runs with each sandbox."""
    process = subprocess.run(
        [
            *on_machine(machine.NAMESPACES, machine.LANDLOCK),
            *(sys.executable, "-m", "pytest", "-q", "--numprocesses", "0"),
            *("-p", "no:cacheprovider", "--basetemp", str(tmp_path / "inner")),
            "tests/cli/test_run.py::test_an_answer",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert process.returncode == 0, process.stdout
    assert "1 passed, 2 skipped" in process.stdout
    assert "needs the sandbox bubblewrap: bubblewrap " in process.stdout
    assert "needs the sandbox landlock: the kernel has no Landlock" in process.stdout


@pytest.mark.sandboxes("landlock")
def test_in_a_checkout_the_first_line_says_that_nothing_is_started(
    manus: Program, server: ScriptedServer
) -> None:
    """Landlock cannot hide the code of manus in the workspace from programs."""
    server.script(call("bash", command="echo 1"), text("Done."))
    result = manus("run", "--workspace", str(ROOT), "Do it.")
    assert "(no program is started, since Landlock cannot protect" in result.err.partition("\n")[0]
    [observation] = server.requests[-1].tool_results.values()
    assert "Choose another workspace with `--workspace`." in observation
