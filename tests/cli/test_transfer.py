"""`manus export` and `manus import`."""

import base64
import json
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manus.workspace.tree import blob_id
from tests.cli.program import NO_BYTECODE, Program, wait_for_file
from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.server import ScriptedServer, call, hang, text
from tests.threads.postgres_server import PostgresServer

KEY = "sk-very-secret-value-1234"
LISTED = "ls -la; echo \"$(printf 'sk-very-%s' secret-value-1234)\""


@pytest.fixture
def other(manus: Program, tmp_path: Path) -> Program:
    """Provide another user's program, on another machine."""
    home = tmp_path / "other"
    home.mkdir()
    names = ("MANUS_BASE_URL", "MANUS_MODEL")
    return Program(home, {name: manus.environment[name] for name in names})


def use(program: Program, kind: str, request: pytest.FixtureRequest) -> None:
    if kind == "postgres":
        postgres: PostgresServer = request.getfixturevalue("postgres")
        program.environment["MANUS_CHECKPOINT"] = postgres.new_database()


def write_files(server: ScriptedServer) -> None:
    make = "mkdir -p src/empty bin; echo 数 > src/a.txt; echo run > bin/go; chmod 700 bin/go"
    secret = f"echo KEY={KEY} > config.ini; ln -s a.txt src/link; ln -s /etc out"
    server.script(call("bash", command=make), call("bash", command=secret), text("Written."))


def read_contents(path: Path) -> bytes:
    """Return the decoded contents of an exported thread."""
    with zipfile.ZipFile(path) as archive:
        parts = [archive.read(name) for name in archive.namelist()]
        lines = archive.read("checkpoints.jsonl").splitlines()
    for line in map(json.loads, lines):
        values = [line["checkpoint"], *(write[2:] for write in line["writes"])]
        parts += [base64.b64decode(data) for _, data in values]
    return b"".join(parts)


@pytest.mark.parametrize(("source", "target"), [("sqlite", "postgres"), ("postgres", "sqlite")])
def test_a_thread_moves_with_its_files(
    manus: Program,
    other: Program,
    server: ScriptedServer,
    request: pytest.FixtureRequest,
    source: str,
    target: str,
) -> None:
    use(manus, source, request)
    use(other, target, request)
    manus.workspace.mkdir()
    (manus.workspace / ".env").write_text("A=1\n")
    write_files(server)
    assert manus("run", "--thread", "t", "Write files 写").code == 0
    server.script(call("bash", command=LISTED), text("It is listed."))
    manus("run", "--thread", "t", "List them")
    manus.environment["MANUS_API_KEY"] = KEY
    exported = manus("export", "t", "t.zip", "--files")
    assert exported.code == 0, exported.err
    assert "config.ini" in exported.err
    assert ".env" in exported.err
    contents = read_contents(manus.home / "t.zip")
    assert b"*" * len(KEY) + b" > config.ini" in contents
    assert KEY.encode() not in contents
    listing = manus("show", "t").out.replace(KEY, "*" * len(KEY))

    imported = other("import", str(manus.home / "t.zip"))
    assert imported.code == 0, imported.err
    assert "Not written because they link outside the folder or failed: out" in imported.err
    folder = other.home / "workspace"
    assert listing.splitlines()[1:] == other("show", "t").out.splitlines()[1:]
    assert (folder / "src" / "a.txt").read_text() == "数\n"
    assert stat.S_IMODE((folder / "bin" / "go").stat().st_mode) == 0o700
    assert (folder / "src" / "link").readlink() == Path("a.txt")
    assert (folder / "src" / "empty").is_dir()
    assert not os.path.lexists(folder / "out")
    assert not (folder / "config.ini").exists()
    [row] = other("threads", "--json").json
    assert (row["thread_id"], row["status"], row["workspace"]) == ("t", "finished", str(folder))
    assert other("history", "t").code == 0
    assert other("report", "t", "-o", "r.html").code == 0
    server.script(call("bash", command="echo more >> src/a.txt"), text("Added."))
    assert other("run", "--thread", "t", "--json", "Add more").json["output"] == "Added."
    assert "Write files 写" in server.requests[-1].text
    assert other("history", "t").code == 0
    assert other("rewind", "t", "--to", "1").code == 0
    again = other("import", str(manus.home / "t.zip"), "--workspace", "elsewhere")
    assert (again.code, "The thread t already exists" in again.err) == (2, True)
    assert other("import", str(manus.home / "t.zip"), "--thread", "u").code == 2
    assert other("import", str(manus.home / "t.zip"), "--thread", "u", "--workspace", "w").code == 0
    other("rewind", "u", "--to", "1")
    assert other("threads", "--delete", "u", "--delete", "t").code == 0
    assert [*other.home.glob(".local/state/manus/workspaces/*/rewinds/*")] == []


def test_an_open_question_and_half_a_plan_move(
    manus: Program, other: Program, server: ScriptedServer
) -> None:
    server.script(call("ask_human", inquire="Which colour?"))
    manus("run", "--thread", "asks", "Paint it")
    server.when(is_planner, makes("gamma", "delta"))
    server.when(is_step("gamma"), call("bash", command="echo 1 >> gamma.txt"), succeeds("Gamma."))
    server.when(is_step("delta"), hang())
    count = len(server.requests)
    with manus.start("flow", "--thread", "half", "Do both") as process:
        server.wait_for(count + 4)
        process.send_signal(9)
    for thread in ("asks", "half"):
        assert manus("export", thread, f"{thread}.zip").code == 0
        assert other("import", str(manus.home / f"{thread}.zip")).code == 0
    server.begin()
    server.script(text("Blue."))
    answered = other("resume", "asks", "--answer", "blue", "--json")
    assert answered.json["output"] == "Blue.", answered.err
    server.when(is_step("delta"), succeeds("Delta."))
    server.when(is_summary, text("Both are done."))
    resumed = other("resume", "half", "--json")
    assert resumed.json["output"] == "Both are done.", resumed.err
    assert not (other.workspace / "gamma.txt").exists()


@pytest.mark.parametrize("command", ["run", "flow"])
def test_a_call_in_doubt_stays_in_doubt_and_unread_messages_are_named(
    manus: Program, other: Program, server: ScriptedServer, command: str
) -> None:
    if command == "flow":
        server.script(makes("alpha"))
    server.script(call("bash", command="echo 1 >> count.txt; sleep 600"))
    with manus.start(command, "--thread", "t", "Do it.") as process:
        wait_for_file(manus.workspace / "count.txt")
        process.send_signal(9)
    manus.end_leftovers()
    assert manus("send", "t", "use tabs").code == 0
    exported = manus("export", "t", "t.zip")
    stderr = " ".join(exported.err.split())
    assert "send them again after the import: use tabs" in stderr
    assert other("import", str(manus.home / "t.zip")).code == 0
    server.script(succeeds("I see."), *([text("Done.")] if command == "flow" else []))
    assert other("resume", "t").code == 0
    (answer,) = server.requests[-1 if command == "run" else -2].tool_results.values()
    assert "may have taken effect" in answer
    assert not (other.workspace / "count.txt").exists()


def test_a_compacted_thread_moves(manus: Program, other: Program, server: ScriptedServer) -> None:
    server.script(call("bash", command="echo 数 > a.txt"), text("Written."))
    manus("run", "--thread", "线", "Write 写")
    assert manus("threads", "--compact").code == 0
    assert manus("export", "线", "t.zip", "--files").code == 0
    assert other("import", str(manus.home / "t.zip")).code == 0
    assert manus("show", "线").out.splitlines()[1:] == other("show", "线").out.splitlines()[1:]
    assert (other.workspace / "a.txt").read_text() == "数\n"
    server.script(text("It is there."))
    assert other("run", "--thread", "线", "--json", "Is it?").json["output"] == "It is there."
    assert "Write 写" in server.requests[-1].text


def test_permissions_do_not_move(manus: Program, other: Program, server: ScriptedServer) -> None:
    write = {"path": "a.txt", "command": "create", "file_text": "one"}
    edit = {"path": "a.txt", "command": "str_replace", "old_str": "one", "new_str": "two"}
    server.script(call("str_replace_editor", write), call("ask_human", inquire="Once more?"))
    manus("run", "--thread", "t", "--approve", "ask", "Write")
    assert "Once more?" in manus("resume", "t", "--answer", "run").out
    assert manus("export", "t", "t.zip", "--files").code == 0
    assert other("import", str(manus.home / "t.zip")).code == 0
    server.script(call("str_replace_editor", edit))
    result = other("resume", "t", "--answer", "yes", "--approve", "ask")
    assert "Waiting for an answer" in result.err, result.err
    assert (other.workspace / "a.txt").read_text() == "one"
    server.script(call("str_replace_editor", edit), text("Edited."))
    assert manus("resume", "t", "--answer", "yes", "--json").json["output"] == "Edited."
    assert (manus.workspace / "a.txt").read_text() == "two"


def rewrite(path: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """Write a copy of a zip file with changed members."""
    forged = path.with_name("forged.zip")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(forged, "w") as new:
        for name in old.namelist():
            content = change(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return forged


def manifest(**changes: Any) -> Callable[[str, bytes], bytes | None]:
    def change(name: str, content: bytes) -> bytes:
        return (
            json.dumps({**json.loads(content), **changes}).encode()
            if name == "manifest.json"
            else content
        )

    return change


def entry(path: str, kind: str = "file") -> Callable[[str, bytes], bytes | None]:
    """Add an entry for a file, with the contents of another."""

    def change(name: str, content: bytes) -> bytes:
        line = json.dumps([path, kind, 0o644, blob_id(b"run\n")])
        return content + line.encode() + b"\n" if name == "files.jsonl" else content

    return change


def without(member: str) -> Callable[[str, bytes], bytes | None]:
    return lambda name, content: None if name == member else content


def pickled(name: str, content: bytes) -> bytes:
    return content.replace(b'"msgpack"', b'"pickle"') if name == "checkpoints.jsonl" else content


def deep(name: str, content: bytes) -> bytes:
    return b"[" * 200_000 if name == "checkpoints.jsonl" else content


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(manifest(format=99), "newer release", id="newer"),
        pytest.param(manifest(thread="a\nb"), "it is damaged", id="thread id"),
        pytest.param(entry("../escaped"), "it is damaged", id="parent"),
        pytest.param(entry("/tmp/escaped"), "it is damaged", id="absolute"),
        pytest.param(entry("a/.git/config"), "it is damaged", id="repository"),
        pytest.param(entry(".manus/x"), "it is damaged", id="private"),
        pytest.param(entry("a\0b"), "it is damaged", id="nul"),
        pytest.param(entry("x", "device"), "it is damaged", id="kind"),
        pytest.param(without("manifest.json"), "it is damaged", id="no manifest"),
        pytest.param(without("checkpoints.jsonl"), "it is damaged", id="no checkpoints"),
        pytest.param(pickled, "it is damaged", id="pickle"),
        pytest.param(deep, "it is damaged", id="deep"),
    ],
)
def test_a_forged_file_is_refused(
    manus: Program,
    other: Program,
    server: ScriptedServer,
    change: Callable[[str, bytes], bytes | None],
    words: str,
) -> None:
    write_files(server)
    manus("run", "--thread", "t", "Write files")
    manus("export", "t", "t.zip", "--files")
    forged = rewrite(manus.home / "t.zip", change)
    result = other("import", str(forged))
    assert (result.code, result.out, result.err.count("Traceback")) == (2, "", 0), result.err
    assert words in " ".join(result.err.split())
    assert other("threads", "--json").json == []
    assert not (other.home / "escaped").exists()


def test_a_file_below_a_link_is_not_written_through_it(
    manus: Program, other: Program, server: ScriptedServer
) -> None:
    write_files(server)
    manus("run", "--thread", "t", "Write files")
    manus("export", "t", "t.zip", "--files")
    other("import", str(rewrite(manus.home / "t.zip", entry("src/link/escaped"))))
    assert (other.home / "workspace" / "src" / "a.txt").read_text() == "数\n"


STARTING = (".vscode/tasks.json", ".unknown/x", "sub/sitecustomize.py", ".github/workflows/a.yml")


@pytest.mark.parametrize("option", [(), ("--with-dotfiles",)])
def test_files_that_start_programs_are_named_and_left_out(
    manus: Program, other: Program, server: ScriptedServer, option: tuple[str, ...]
) -> None:
    write_files(server)
    manus("run", "--thread", "t", "Write files")
    manus("export", "t", "t.zip", "--files")
    path = manus.home / "t.zip"
    for name in (*STARTING, ".gitignore"):
        path = rewrite(path, entry(name)).rename(manus.home / f"{len(name)}.zip")
    result = other("import", *option, str(path))
    assert result.code == 0, result.err
    written = [name for name in STARTING if (other.home / "workspace" / name).exists()]
    assert written == (list(STARTING) if option else [])
    assert all((name in result.err) != bool(option) for name in STARTING), result.err
    assert (other.home / "workspace" / ".gitignore").read_text() == "run\n"


def declare(path: Path, name: str, size: int) -> None:
    """Change the unpacked size that the directory of a zip file declares for a member."""
    data = bytearray(path.read_bytes())
    entry_at = data.rindex(b"PK\x01\x02", 0, data.rindex(name.encode()))
    data[entry_at + 24 : entry_at + 28] = size.to_bytes(4, "little")
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("size", "declared", "reason"),
    [
        (17 * 2**20, None, "unpacks to more than 200 times its size"),
        (10, 2**30, "larger than an exported thread can be"),
        (10, 2**32 - 2, "larger than an exported thread can be"),
        (0, 10, "damaged"),
    ],
)
def test_a_file_that_unpacks_to_too_much_writes_nothing(
    manus: Program,
    other: Program,
    server: ScriptedServer,
    size: int,
    declared: int | None,
    reason: str,
) -> None:
    """Also if its directory declares less, or more, than there is."""
    server.script(text("Done."))
    assert manus("run", "--thread", "t", "Do it.").code == 0
    path = manus.home / "t.zip"
    assert manus("export", "t", str(path)).code == 0
    if size:
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("more", bytes(size))
    if declared is not None:
        declare(path, "more" if size else "checkpoints.jsonl", declared)
    result = other("import", str(path))
    assert (result.code, reason in result.err) == (2, True), result.err
    assert "There are no threads" in other("threads").out + other("threads").err


def test_bad_input(manus: Program, server: ScriptedServer, subtests: pytest.Subtests) -> None:
    server.script(text("One."))
    manus("run", "--thread", "t", "Say one")
    (manus.home / "text.zip").write_text("no zip")
    assert manus("export", "t", "t.zip").code == 0
    size = (manus.home / "t.zip").stat().st_size
    (manus.home / "cut.zip").write_bytes((manus.home / "t.zip").read_bytes()[: size // 2])
    for arguments, code in (
        (["export", "missing", "x.zip"], 2),
        (["export", "t", "t.zip"], 2),
        (["export", "t", "nowhere/x.zip"], 1),
        (["export", "t", "x.zip", "--files"], 2),
        (["import", "missing.zip"], 2),
        (["import", "text.zip"], 2),
        (["import", "cut.zip"], 2),
        (["import", "t.zip"], 2),
    ):
        with subtests.test(arguments=arguments):
            result = manus(*arguments)
            assert (result.code, result.out, result.err.count("Traceback")) == (code, "", 0)
            assert result.err.startswith("manus: ")
    assert not (manus.home / "x.zip").exists()


def test_a_full_disk_leaves_no_half_file(manus: Program, server: ScriptedServer) -> None:
    server.script(call("bash", command="head -c 3000000 /dev/urandom > big.bin"), text("Done."))
    manus("run", "--thread", "t", "Write")
    limited = ["bash", "-c", f'{NO_BYTECODE}; ulimit -f 1000; exec "$@"', "bash"]
    before = sorted(path.name for path in manus.home.iterdir())
    result = manus.cold("export", "t", "t.zip", "--files", by=limited)
    assert (result.code, result.err.count("Traceback")) == (1, 0), result.err
    assert "Cannot write t.zip" in " ".join(result.err.split())
    assert sorted(path.name for path in manus.home.iterdir()) == before
    assert manus("export", "t", "t.zip", "--files").code == 0
