"""`bash`: the persistent shell, a real one."""

import asyncio
import uuid
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from manus.calls.session import Session
from manus.tools.bash import Bash
from tests.helpers.processes import lives, until

pytestmark = pytest.mark.sandboxes


@pytest.fixture
def bash(session: Session) -> Bash:
    return Bash(session=session)


async def say(bash: Bash, command: str | None, **arguments: Any) -> str:
    return (await bash.observe(command=command, **arguments)).text


# Commands in many forms, and their output.
COMMANDS = {
    "plain": ("echo hi", "hi\n[exit code 0]"),
    "empty": ("", "[exit code 0, no output]"),
    "only a comment": ("# nothing", "[exit code 0, no output]"),
    "comment at the end": ("echo hi # and bye", "hi\n[exit code 0]"),
    "exit code": ("(exit 3)", "[exit code 3, no output]"),
    "return": ("echo a; return 4; echo b", "a\n[exit code 4]"),
    "stderr in order": ("echo 1; echo 2 >&2; echo 3", "1\n2\n3\n[exit code 0]"),
    "heredoc": ("cat <<EOF\na $((1+1)) 'b'\nEOF", "a 2 'b'\n[exit code 0]"),
    "heredoc and comment": ("cat <<'EOF' # c\n$x\nEOF\n# d", "$x\n[exit code 0]"),
    "trailing &": ("echo hi &", "hi\n[exit code 0]"),
    "background job holds the output": ("sleep 600 & echo hi", "hi\n[exit code 0]"),
    "read": ('read x; echo $? "[$x]"', "1 []\n[exit code 0]"),
    "cat": ("cat", "[exit code 0, no output]"),
    "a trap that prints": ("trap 'echo at' DEBUG", "[exit code 0, no output]"),
    "a trap taken back": ("trap - DEBUG; echo hi", "hi\n[exit code 0]"),
    "a folder that was removed": ("mkdir gone; cd gone; rm -r ../gone", "[exit code 0, no output]"),
    "out of that folder": ("cd .. && ls", "[exit code 0, no output]"),
    "unknown program": ("nope", "bash: line 1: nope: command not found\n[exit code 127]"),
    "binary": (r"printf 'a\377\000\001b'", "a\ufffd\ufffd\ufffdb\n[exit code 0]"),
    "megabytes": ("head -c 5000000 /dev/zero | tr '\\0' x", f"{'x' * 5_000_000}\n[exit code 0]"),
    "a megabyte of command": (f": {'x' * 1_000_000}\necho hi", "hi\n[exit code 0]"),
}


# The wording differs between versions of bash; that there is an error, and where, does not.
FAULTS = {
    "open quote": ("echo 'a", "bash: line 1: unexpected EOF"),
    "closing brace": ("echo a\n}", "a\nbash: line 2: syntax error near unexpected token `}'"),
    "heredoc without end": ("cat <<EOF; false\na", "a\n[exit code 1]"),
    "a program crashes": ("sh -c 'kill -SEGV $$'", "bash: line 1: Segmentation fault"),
}


async def test_commands_one_after_the_other(bash: Bash, subtests: pytest.Subtests) -> None:
    await say(bash, "rm -rf .manus")
    for name, (command, expected) in COMMANDS.items():
        with subtests.test(name=name, command=command):
            observation = await bash.observe(command=command)
            assert observation.text == expected, name
            assert observation.is_error == ("[exit code 0" not in expected), name
    for name, (command, expected) in FAULTS.items():
        with subtests.test(name=name, command=command):
            observation = await bash.observe(command=command)
            assert expected in observation.text, name
            assert observation.is_error, name
            assert await say(bash, "echo next") == "next\n[exit code 0]", name


# Commands that end the shell itself, and their output.
ENDINGS = {
    "exit": ("echo a; exit 3", "a\n[exit code 3;"),
    "set -e": ("set -e; false; echo b", "[exit code 1;"),
    "a trap at the exit": ("trap 'echo bye' EXIT; exit 0", "bye\n[exit code 0;"),
    "exec": ("exec echo a", "a\n[exit code 0;"),
    "killed": ("echo a; kill -9 $$", "a\n[killed by SIGKILL;"),
}


async def test_a_shell_that_ends_is_reported_and_replaced(
    bash: Bash, subtests: pytest.Subtests
) -> None:
    await say(bash, "mkdir sub; cd sub; a=1")
    for name, (command, expected) in ENDINGS.items():
        with subtests.test(name=name, command=command):
            observation = await bash.observe(command=command)
            assert observation.text.startswith(f"{expected} the shell itself exited"), name
            assert observation.text.endswith("a fresh shell in `sub`]"), name
            assert observation.is_error == ("[exit code 0" not in expected), name
            assert await say(bash, "echo ${PWD##*/} [$a]") == "sub []\n[exit code 0, in sub]", name


async def test_directory_variables_functions_aliases_and_options_stay(bash: Bash) -> None:
    await say(bash, "mkdir sub; cd sub; a=1; export B=2; f() { echo f$1; }; alias g='echo alias'")
    await say(bash, "set -o pipefail; set -- p q; umask 027; exec 7>log")
    output = await say(
        bash,
        "echo ${PWD##*/} $a $B $1; sh -c 'echo $B'; f x; g y; (exit 3) | true; echo $?\n"
        "umask; echo logged >&7; cat log",
    )
    assert output == "sub 1 2 p\n2\nfx\nalias y\n3\n0027\nlogged\n[exit code 0, in sub]"
    await say(bash, "(exit 42)")
    assert await say(bash, "echo $?") == "42\n[exit code 0, in sub]"
    # names and options that could break the wrapper around a command
    await say(bash, "set -euCf; shopt -s nullglob; IFS=x; unset PWD; POSIXLY_CORRECT=1")
    await say(bash, "source() { echo no; }; printf() { echo no; }; alias builtin=no; trap : ERR")
    assert await say(bash, "echo a") == "a\n[exit code 0, in sub]"


async def test_a_background_job_continues_and_does_not_block(
    bash: Bash, root: Path, subtests: pytest.Subtests
) -> None:
    count = root / "count"
    job = "n=0; while :; do n=$((n+1)); printf '%70000s\\n' noise; echo $n > count; done"
    await say(bash, f"( {job} ) & echo started")

    def reached(rounds: int) -> bool:
        return count.exists() and int(count.read_text() or 0) >= rounds

    for rounds in (3, 6, 9):
        # Each writes more than a pipe holds: it continues only if somebody reads.
        with subtests.test(rounds=rounds):
            await until(partial(reached, rounds))
            assert await say(bash, "echo clean") == "clean\n[exit code 0]"
    assert await say(bash, "kill %1; echo killed") == "killed\n[exit code 0]"


async def test_background_jobs_outlive_their_command_but_not_the_session(bash: Bash) -> None:
    session = bash.session
    await say(bash, "sleep 600 & echo $! > pids; nohup sleep 600 > /dev/null & echo $! >> pids")
    await say(bash, "(sh -c 'echo $$ >> pids; trap \"\" TERM; sleep 600; :' &)")
    path = session.workspace.root / "pids"
    await until(lambda: len(path.read_text().split()) == 3)
    pids = path.read_text().split()
    assert [lives(pid) for pid in pids] == [True] * 3
    await session.close()
    assert [lives(pid) for pid in pids] == [False] * 3
    assert list(session.workspace.private.glob("shell/*")) == []


async def test_programs_do_not_find_the_files_of_the_shell(bash: Bash, sandbox_kind: str) -> None:
    """`grep -r` would find its own command line."""
    if sandbox_kind == "none":
        pytest.skip("without a sandbox they are in the workspace")
    needle = uuid.uuid4().hex  # a word that is in no file, even if the checkout is visible
    command = f"grep -rs {needle} . ~ $TMPDIR; find . ~ $TMPDIR -type p"
    assert await say(bash, command) == "[exit code 0, no output]"


async def test_a_program_ends_silently_when_its_reader_has_ended(bash: Bash) -> None:
    assert await say(bash, "yes | head -n 1") == "y\n[exit code 0]"


async def test_a_timeout_ends_everything_and_keeps_the_output(bash: Bash, root: Path) -> None:
    await say(bash, "mkdir sub; cd sub; mkdir deep")
    command = (
        "a=1; setsid sleep 600 & echo $! > pids; sleep 600 & echo $! >> pids; "
        "trap '' TERM INT; echo before; cd deep; sleep 600"
    )
    observation = await bash.observe(command=command, timeout=1)
    assert observation.is_error
    assert observation.text.startswith("before\n[stopped: timed out after 1 s")
    pids = (root / "sub" / "pids").read_text().split()
    assert [lives(pid) for pid in pids] == [False, False]
    assert await say(bash, "echo ${PWD##*/} [$a]") == "sub []\n[exit code 0, in sub]"


async def test_a_restart_with_the_same_outcome_has_the_same_text(bash: Bash, root: Path) -> None:
    command = "nope; sh -c 'kill -9 $$'; echo $((1/0)); env | sort; (exit 5)"
    first = await say(bash, command)
    assert await say(bash, command) == first
    await say(bash, None, restart=True)
    assert await say(bash, command) == first
    await say(bash, "mkdir sub; cd sub; a=1; sleep 600 & echo $! > pid")
    assert not (await bash.observe(restart=True)).is_error
    assert not lives((root / "sub" / "pid").read_text())
    assert await say(bash, "ls; echo [$a]; a=2") == "sub\n[]\n[exit code 0]"
    output = await say(bash, "echo [$a]", restart=True)
    assert output.endswith("]\n[]\n[exit code 0]")


async def test_cancelling_ends_the_command_and_the_next_works(bash: Bash, root: Path) -> None:
    pid = root / "pid"
    command = "setsid sleep 600 & echo $! > pid; sleep 600"
    task = asyncio.ensure_future(bash.observe(command=command))
    await until(lambda: pid.exists() and pid.read_text())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not lives(pid.read_text())
    output = await say(bash, "echo a")
    assert output.startswith("[the shell exited after the last command")
    assert output.endswith("\na\n[exit code 0]")
