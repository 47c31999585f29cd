"""Back up a database, its workspace and records, and restore them elsewhere, as the page says."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.program import Program
from tests.cli.test_conversation import user_messages
from tests.helpers.child import ROOT
from tests.helpers.pages import find_code_blocks
from tests.server import ScriptedServer, call, text
from tests.threads.postgres_server import PostgresServer, binaries

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(binaries() is None, reason="PostgreSQL's server is not installed"),
]

PAGE = (ROOT / "docs" / "deployment.md").read_text("utf-8")


def run_commands(manus: Program, program: str, folder: Path) -> None:
    """Run the commands of the page that begin with a program's; the workspace is this test's."""
    [block] = [b for b in find_code_blocks(PAGE, "console") if f"$ {program}" in b]
    script = block.replace("$ ", "").replace("/workspace", str(manus.workspace))
    path = f"{binaries()}:{os.environ['PATH']}"
    environment = {**manus.environment, "PATH": path}
    subprocess.run(["sh", "-ec", script], cwd=folder, env=environment, check=True, timeout=100)


def test_a_backup_is_restored_to_one_moment(
    manus: Program, server: ScriptedServer, postgres: PostgresServer, tmp_path: Path
) -> None:
    manus.environment["MANUS_CHECKPOINT"] = postgres.new_database()
    backup = tmp_path / "backup"
    backup.mkdir()
    file = manus.workspace / "a.txt"
    for number in ("one", "two"):
        server.script(call("bash", command=f"echo {number} > a.txt"), text(f"Done: {number}."))
        assert manus("run", "--thread", "t", f"Write {number}.").code == 0
    assert manus("run", "--queue", "--thread", "q", "Count them.").code == 0
    run_commands(manus, "pg_dump", backup)

    server.script(call("bash", command="echo three | tee a.txt > b.txt"), text("Done: three."))
    assert manus("run", "--thread", "t", "Write three.").code == 0
    shutil.rmtree(manus.workspace)
    shutil.rmtree(manus.home / ".local")
    manus.environment["MANUS_CHECKPOINT"] = postgres.new_database()
    run_commands(manus, "pg_restore", backup)

    assert (file.read_text(), (manus.workspace / "b.txt").exists()) == ("two\n", False)
    server.script(text("Two."))
    assert manus("worker", "--until-empty").code == 0
    assert user_messages(server) == ["Count them."]
    threads = {t["thread_id"]: t["status"] for t in json.loads(manus("threads", "--json").out)}
    assert threads == {"t": "finished", "q": "finished"}
    assert manus("rewind", "t", "--to", "2").code == 0
    assert file.read_text() == "one\n"
    server.script(text("Again."))
    assert manus("run", "--thread", "t", "And now?").out == "Again.\n"
    assert user_messages(server) == ["Write one.", "And now?"]
