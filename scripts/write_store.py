"""Write the stores of this release that the tests of all later releases open.

`python -m scripts.write_store` runs the program against a scripted model server and packs the
stores into `tests/threads/releases/VERSION-sqlite.tar.xz` and `VERSION-postgres.tar.xz`. Run
it once per release, after setting the version, and commit the files.

Checkpoints contain the path of their workspace, so the tests unpack a store where it was written.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from manus.version import VERSION
from tests.cli.program import Program
from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.helpers.long_run import SUMMARIZER
from tests.server import ScriptedServer, call, calls, hang, mentions, text
from tests.threads.postgres_server import binaries, running

RELEASES = Path("tests/threads/releases")
HOME = Path("/tmp") / f"manus-store-{VERSION}"
PACKED = (".local", "workspace")
DUMP = "store.sql"
_WINDOW = "16000"
_NOTES = "## Done\n- Looked at many numbers; the code of the locker is 90296."
_LOOKS = 14
_MANY_LINES = "yes 'A wall, a door, a window.' | head -n 150"


def main() -> None:
    """Write both stores and pack them."""
    if existing := sorted(RELEASES.glob(f"{VERSION}-*")):
        raise SystemExit(f"{existing[0]} exists: stores of a release are written once.")
    os.environ["NO_PROXY"] = "127.0.0.1"
    write_threads()
    _pack("sqlite")
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as postgres:
        url = postgres.new_database()
        write_threads(url)
        _pack("postgres", _dump(url))
    shutil.rmtree(HOME)


def _pack(kind: str, dump: bytes = b"") -> None:
    """Pack the home folder, and a dump of the database if there is one."""
    path = RELEASES / f"{VERSION}-{kind}.tar.xz"
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w:xz", preset=9) as archive:
        for name in PACKED:
            archive.add(HOME / name, name, filter=_select)
        if dump:
            member = tarfile.TarInfo(DUMP)
            member.size = len(dump)
            archive.addfile(member, io.BytesIO(dump))
    sys.stdout.write(f"{path}: {path.stat().st_size:,} bytes\n")


def write_threads(checkpoint: str = "") -> None:
    """Run each kind of thread once, in the store at an address or in the default file."""
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(mode=0o700)
    server = ScriptedServer()
    environment = {
        "MANUS_BASE_URL": server.base_url,
        "MANUS_MODEL": "scripted",
        "MANUS_SANDBOX": "none",
    }
    if checkpoint:
        environment["MANUS_CHECKPOINT"] = checkpoint
    program = Program(HOME, environment)
    try:
        _write_agent(program, server)
        _write_questions(program, server)
        _write_compaction(program, server)
        _write_killed_agent(program, server)
        _write_flow(program, server)
        _write_half_plan(program, server)
    finally:
        program.end_leftovers()
        server.close()


def _write_agent(program: Program, server: ScriptedServer) -> None:
    write = call("str_replace_editor", command="create", path="notes.txt", file_text="One.\n数\n")
    terminate = call("terminate", status="success", answer="There are two lines.")
    server.script(
        calls(call("bash", command="echo 42 > answer.txt; cat answer.txt")), write, terminate
    )
    _run(program, "run", "--thread", "agent", "Write two lines 写两行")
    server.script(text("It is 42."))
    _run(program, "run", "--thread", "agent", "What is in answer.txt?")


def _write_questions(program: Program, server: ScriptedServer) -> None:
    server.script(call("ask_human", inquire="Which colour?"))
    _run(program, "run", "--thread", "question", "Paint it", code=1)
    server.script(call("bash", command="echo painted > paint.txt"))
    _run(program, "run", "--thread", "approval", "--approve", "ask", "Paint it now", code=1)


def _write_compaction(program: Program, server: ScriptedServer) -> None:
    summaries = server.when(mentions(SUMMARIZER)).always(text(_NOTES))
    looks = [call("bash", command=f"echo {n}; {_MANY_LINES}") for n in range(_LOOKS)]
    server.script(*looks, call("terminate", status="success", answer="I have looked."))
    program.environment["MANUS_CONTEXT_WINDOW"] = _WINDOW
    _run(program, "run", "--thread", "compaction", "Look at the numbers; rule: never guess")
    del program.environment["MANUS_CONTEXT_WINDOW"]
    assert any(mentions(SUMMARIZER)(request) for request in server.requests)
    assert summaries is not None
    server.begin()


def _write_killed_agent(program: Program, server: ScriptedServer) -> None:
    """Kill an agent during a call: the journal contains its claim, but not its result."""
    server.script(call("bash", command="echo once >> effect.txt; touch begun; sleep 100"))
    with program.start("run", "--thread", "killed", "Do it once") as process:
        _wait_for(program.workspace / "begun")
        os.kill(process.pid, signal.SIGKILL)
        process.end()
    program.end_leftovers()


def _write_flow(program: Program, server: ScriptedServer) -> None:
    server.when(is_planner, makes("alpha", "beta"))
    server.when(is_step("alpha"), call("bash", command="echo 42 > alpha.txt"), succeeds("It is 42"))
    server.when(is_step("beta"), succeeds("Beta is done."))
    server.when(is_summary, text("All is done."))
    _run(program, "flow", "--thread", "flow", "Do both")
    server.begin()


def _write_half_plan(program: Program, server: ScriptedServer) -> None:
    """Kill a flow during the model request of the second of three steps."""
    server.when(is_planner, makes("gamma", "delta", "epsilon"))
    server.when(is_step("gamma"), call("bash", command="echo 1 >> gamma.txt"), succeeds("Gamma."))
    server.when(is_step("delta"), hang())
    with program.start("flow", "--thread", "half-plan", "Do all three") as process:
        server.wait_for(4)
        os.kill(process.pid, signal.SIGKILL)
        process.end()
    server.begin()


def _run(program: Program, *arguments: str, code: int = 0) -> None:
    result = program(*arguments)
    if result.code != code:
        raise SystemExit(f"{arguments} ended with {result.code}:\n{result.out}{result.err}")


def _wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.02)


def _dump(url: str) -> bytes:
    """Return the database as SQL that any client can execute."""
    tools = binaries()
    assert tools is not None
    options = ("--inserts", "--no-owner", "--no-privileges", "--rows-per-insert=50")
    command: list[str | Path] = [tools / "pg_dump", *options, url]
    return subprocess.run(command, check=True, capture_output=True).stdout


def _select(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave out everything that is not part of a store, and the owner."""
    is_part = member.isdir() or member.isreg()
    if not is_part or member.name.endswith((".log", ".locks", "-shm")):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    main()
