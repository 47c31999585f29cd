"""A store that is locked, damaged or full: a sentence, exit code 1, and nothing lost."""

import contextlib
import sqlite3

from tests.manus.program import Program, Result, wait_for_file
from tests.server import ScriptedServer, call, text

GO_ON = "until [ -e go ]; do sleep 0.05; done; echo did >> log"


def _sentence(result: Result, word: str) -> None:
    assert result.code == 1
    sentence = next(line for line in result.err.splitlines() if line.startswith("manus: "))
    assert word in sentence
    assert "Traceback" not in result.err


def test_a_database_locked_in_the_middle_of_a_run(manus: Program, server: ScriptedServer) -> None:
    server.script(call("bash", command="echo > begun; " + GO_ON))
    with manus.start("run", "--json", "--thread", "t", "work") as process:
        wait_for_file(manus.workspace / "begun")
        holder = sqlite3.connect(manus.database, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        try:
            (manus.workspace / "go").touch()
            broken = process.end()
        finally:
            holder.close()
    _sentence(broken, "is locked")
    assert (broken.json["thread_id"], broken.json["status"]) == ("t", "error")
    assert "is locked" in broken.json["output"]
    assert broken.json["usage"]["model_calls"] == 1
    assert "Go on with: manus resume t\n" in broken.err
    server.script(text("Done."))
    assert manus("resume", "t").code == 0
    assert (manus.workspace / "log").read_text() == "did\n"


def test_a_thread_that_is_damaged(manus: Program, server: ScriptedServer) -> None:
    server.script(text("One."), text("Two."))
    assert manus("run", "--thread", "bad", "hello").code == 0
    assert manus("run", "--thread", "good", "hello").code == 0
    with contextlib.closing(sqlite3.connect(manus.database)) as file, file:
        file.execute("UPDATE checkpoints SET checkpoint = x'9300' WHERE thread_id = 'bad'")
    for arguments in (["run", "--thread", "bad", "more"], ["resume", "bad"], ["show", "bad"]):
        _sentence(manus(*arguments), "it is damaged")
    listed = manus("threads")
    assert [line.split()[0] for line in listed.out.splitlines()[1:]] == ["good"]
    assert listed.err.startswith("The thread bad is left out. ")


def test_a_file_size_limit(manus: Program, server: ScriptedServer) -> None:
    # another large result each time
    server.always(lambda asked: call("bash", command=f"seq {len(asked.messages)} 2200"))
    # kilobytes
    limited = ["bash", "-c", 'ulimit -f 300; exec "$@"', "bash"]
    _sentence(manus.cold("run", "--max-steps", "40", "--thread", "t", "count", by=limited), "disk")
    assert len(manus("show", "--json", "t").json["messages"]) > 3
    server.script(text("Now there is room."))
    assert manus("resume", "--quiet", "t").out == "Now there is room.\n"
