"""`manus history` and `rewind`, and `/undo`: a thread is rewound together with its files."""

import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from manus.cli.entry import execute
from manus.workspace import listing
from tests.cli.program import Program
from tests.cli.test_conversation import ask, user_messages
from tests.cli.test_kill_points import trace_forks
from tests.flow.helpers import free, makes, succeeds
from tests.helpers.child import server_pid
from tests.helpers.processes import until
from tests.server import Call, Message, Request, ScriptedServer, call, text

FIRST = "mkdir data src; echo 1 > data/a.csv; echo 2 > data/b.csv; echo print > src/app.py"
SECOND = "rm -rf data; mv src lib; chmod 755 lib/app.py; ln -s app.py lib/link; echo x > 田.md"


def bash(command: str) -> Call:
    return call("bash", command=command)


def edit(path: str, content: str) -> Call:
    return call("str_replace_editor", command="create", path=path, file_text=content)


def read(folder: Path) -> dict[str, object]:
    """Return the contents of a workspace."""
    entries: dict[str, object] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if name.startswith((".manus", ".git")):
            continue
        if path.is_symlink():
            entries[name] = path.readlink()
        elif path.is_dir():
            entries[name] = "folder"
        else:
            entries[name] = (path.stat().st_mode, path.read_bytes())
    return entries


@pytest.fixture
def states(manus: Program, server: ScriptedServer) -> list[dict[str, object]]:
    """Return the workspace before a run `t`, and after each of its three steps with a call.

    Two steps without changes follow them: the answer, and the same answer after it was sent back.
    """
    workspace = manus.workspace
    workspace.mkdir()
    (workspace / "mine.txt").write_text("mine")
    (workspace / ".gitignore").write_text("data\n")
    states = [read(workspace)]

    def note(reply: Message | Call) -> Callable[[Request], Message | Call]:
        def answer(_: Request) -> Message | Call:
            states.append(read(workspace))
            return reply

        return answer

    server.script(
        bash(FIRST), note(bash(SECOND)), note(edit("new.py", "new = 1\n")), note(text("Done."))
    )
    assert manus("run", "--thread", "t", "Change files.").code == 0
    return states


def test_history_names_the_files_of_each_step(
    manus: Program, states: list[dict[str, object]]
) -> None:
    steps = manus("history", "t", "--json").json
    assert [step["step"] for step in steps] == [0, 1, 2, 3, 4, 5]
    files = [step["files"] for step in steps]
    assert files[0] == files[4] == files[5] == []
    assert set(files[1]) == {"data/a.csv", "data/b.csv", "src/app.py"}
    assert set(files[2]) >= {"data/a.csv", "lib/app.py", "lib/link", "src/app.py", "田.md"}
    assert files[3] == ["new.py"]
    assert "files: new.py" in manus("history", "t").out


@pytest.mark.parametrize("step", [0, 1, 2])
def test_files_and_messages_are_rewound_together(
    manus: Program, server: ScriptedServer, states: list[dict[str, object]], step: int
) -> None:
    message = manus("send", "t", "use tabs", "--queue", "--json").json["id"] if step == 1 else ""
    rewound = manus("rewind", "t", "--to", str(step))
    assert rewound.code == 0, rewound.err
    if message:
        stderr = " ".join(rewound.err.split())
        assert f"the next run reads them: use tabs ({message})." in stderr
        assert manus("send", "t", "--withdraw", message).code == 0
    else:
        assert "nread" not in rewound.err
    assert read(manus.workspace) == states[step]
    assert len(manus("history", "t", "--json").json) == step + 1
    server.script(text("Went on."))
    resumed = manus("resume", "t", "--json")
    assert (resumed.code, resumed.json["output"]) == (0, "Went on.")
    assert len(server.requests[-1].tool_results) == step
    assert "older than the record" not in str(server.requests[-1].messages)


def test_a_rewind_is_undone(manus: Program, states: list[dict[str, object]]) -> None:
    assert manus("rewind", "t", "--to", "0").code == 0
    (manus.workspace / "later.txt").write_text("made after the rewind")
    undone = manus("rewind", "t", "--undo")
    assert undone.code == 0, undone.err
    later = read(manus.workspace).pop("later.txt")
    assert {**states[3], "later.txt": later} == read(manus.workspace)
    assert len(manus("history", "t", "--json").json) == 6
    assert manus("show", "t").out.splitlines()[-1] == "Finished."


def test_the_work_of_others_is_kept(manus: Program, states: list[dict[str, object]]) -> None:
    workspace = manus.workspace
    (workspace / "new.py").write_text("new = 2  # mine\n")
    (workspace / "mine.txt").write_text("mine, changed")
    (workspace / "data").mkdir()
    (workspace / "data" / "ignored.bin").write_bytes(b"\0")
    rewound = manus("rewind", "t", "--to", "1")
    assert rewound.code == 0, rewound.err
    message = "Kept, because someone else has changed them since: new.py."
    assert message in " ".join(rewound.err.split())
    expected = states[1] | {
        name: read(workspace)[name] for name in ("new.py", "mine.txt", "data/ignored.bin")
    }
    assert read(workspace) == expected
    assert manus("rewind", "t", "--to", "0", "--theirs").code == 0
    assert not (workspace / "new.py").exists()
    assert (workspace / "data" / "ignored.bin").exists()
    assert (workspace / "mine.txt").read_text() == "mine, changed"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("rewind", "t", "--to", "9"), "has no step 9"),
        (("rewind", "t"), "Specify the step to return to"),
        (("rewind", "t", "--undo"), "has no rewind to undo"),
        (("rewind", "none", "--to", "1"), "There is no thread none"),
    ],
)
def test_wrong_use(
    manus: Program,
    states: list[dict[str, object]],
    arguments: tuple[str, ...],
    complaint: str,
) -> None:
    before = read(manus.workspace)
    refused = manus(*arguments)
    assert refused.code == 2
    assert complaint in " ".join(refused.err.split())
    assert read(manus.workspace) == before == states[3]


def test_a_damaged_object_is_reported_and_the_rest_restored(
    manus: Program, states: list[dict[str, object]]
) -> None:
    content = (manus.home / ".local/state/manus/workspaces").glob("*/snapshots/objects/??/*")
    identifier = "d00491fd7e5bb6fa28c517a0bb32b8b506539d4d"  # of "1\n", which is data/a.csv
    path = next(p for p in content if p.parent.name + p.name == identifier)
    path.unlink()
    rewound = manus("rewind", "t", "--to", "1")
    assert rewound.code == 1
    assert "Not restored: data/a.csv" in rewound.err
    expected = dict(states[1])
    del expected["data/a.csv"]
    assert read(manus.workspace) == expected


def test_without_git_nothing_else_changes(
    manus: Program, server: ScriptedServer, tmp_path: Path
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "sh", "cat", "ls", "env", "python3", "bwrap", "mkdir", "rm"):
        if (program := shutil.which(name)) is not None:
            (programs / name).symlink_to(program)
    server.script(edit("a.txt", "1"), text("Done."))
    result = manus("run", "--thread", "t", "Edit.", PATH=str(programs))
    assert result.code == 0, result.err
    assert "Git is not installed" in result.err
    rewound = manus("rewind", "t", "--to", "0")
    assert rewound.code == 0
    assert "Files were not restored" in rewound.err
    assert (manus.workspace / "a.txt").exists()


def test_undo_takes_back_a_request_with_its_files(manus: Program, server: ScriptedServer) -> None:
    workspace = manus.workspace
    workspace.mkdir()
    (workspace / "data").mkdir()
    (workspace / "data" / "kept.csv").write_text("1,2\n")
    before = read(workspace)
    server.script(
        bash("echo 1 > made.txt"), text("One."), bash("rm -rf data"), text("Two."), text("Ok.")
    )
    with manus.terminal() as terminal:
        ask(terminal, "first", "One.")
        ask(terminal, "second", "Two.")
        assert not (workspace / "data").exists()
        ask(terminal, "/undo", "Restored: data/kept.csv")
        assert read(workspace).keys() == {"data", "data/kept.csv", "made.txt"}
        ask(terminal, "/undo", "Restored: made.txt")
        assert read(workspace) == before
        ask(terminal, "/undo", "Nothing to undo")
        ask(terminal, "and now?", "Ok.")
    # step 0 has the first request, of which nothing was done yet
    assert user_messages(server) == ["first", "and now?"]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_kill_at_any_change_of_a_restore(
    manus: Program, states: list[dict[str, object]], tmp_path: Path, subtests: pytest.Subtests
) -> None:
    changes = "rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,symlinkat,fchmod"
    killed = 0
    for number in range(1, 60):
        with subtests.test(number=number):
            inject = f"inject={changes}:signal=SIGKILL:when={number}"
            with trace_forks(
                server_pid(), tmp_path / "trace", "-e", f"trace={changes}", "-e", inject
            ):
                first = manus("rewind", "t", "--to", "1")
            killed += first.code == -signal.SIGKILL
            again = manus("rewind", "t", "--to", "1")
            assert again.code == 0, again.err
            assert read(manus.workspace) == states[1]
            assert manus("rewind", "t", "--undo").code == 0
        if first.code == 0:
            break
    assert killed >= 3


async def kill_during(
    manus: Program, server: ScriptedServer, command: str, *arguments: str
) -> None:
    """Kill a run during a command, after it created the file `made.txt`."""
    server.script(bash(f"{command}; echo 1 > made.txt; sleep 600"))
    with manus.start(*(arguments or ("run",)), "--thread", "t", "Do it.") as running:
        await until((manus.workspace / "made.txt").exists)
        running.send_signal(signal.SIGKILL)
        running.end()
    manus.end_leftovers()


@pytest.fixture
def workspace(manus: Program) -> Path:
    """Return a workspace that contains a person's files."""
    manus.workspace.mkdir()
    (manus.workspace / "old.csv").write_text("1")
    (manus.workspace / "mine.txt").write_text("mine")
    return manus.workspace


async def test_a_call_in_doubt_names_the_files_that_it_changed(
    manus: Program, server: ScriptedServer, workspace: Path
) -> None:
    await kill_during(manus, server, "rm old.csv")
    server.script(text("I see."))
    assert manus("resume", "t").code == 0
    (answer,) = server.requests[-1].tool_results.values()
    assert "Files that have changed since it started: made.txt, old.csv." in answer


@pytest.mark.parametrize("is_resumed", [False, True])
async def test_work_of_a_person_after_a_kill_is_kept(
    manus: Program, server: ScriptedServer, workspace: Path, is_resumed: bool
) -> None:
    """Deleted files are restored; files that may be a person's work are kept and listed."""
    await kill_during(manus, server, "rm old.csv")
    (workspace / "made.txt").write_text("the work of a person")
    (workspace / "mine.txt").write_text("mine, changed")
    if is_resumed:
        server.script(text("I see."))
        assert manus("resume", "t").code == 0
        (workspace / "mine.txt").write_text("mine, changed again")
    rewound = manus("rewind", "t", "--to", "0")
    assert rewound.code == 0, rewound.err
    stderr = " ".join(rewound.err.split())
    assert "Restored: old.csv." in stderr
    assert "it is not known who has changed them: made.txt." in stderr
    assert (workspace / "old.csv").read_text() == "1"
    assert (workspace / "made.txt").read_text() == "the work of a person"
    assert "mine, changed" in (workspace / "mine.txt").read_text()
    assert manus("rewind", "t", "--to", "0", "--theirs").code == 0
    assert not (workspace / "made.txt").exists()
    assert "mine, changed" in (workspace / "mine.txt").read_text()
    assert manus("rewind", "t", "--undo").code == 0
    assert (workspace / "made.txt").read_text() == "the work of a person"


async def test_a_call_in_doubt_is_not_repeated_after_an_undone_rewind(
    manus: Program, server: ScriptedServer, workspace: Path
) -> None:
    await kill_during(manus, server, "echo 1 >> count.txt")
    assert manus("rewind", "t", "--to", "0").code == 0
    assert manus("rewind", "t", "--undo").code == 0
    server.script(text("I see."))
    assert manus("resume", "t").code == 0
    (answer,) = server.requests[-1].tool_results.values()
    assert "may have taken effect" in answer
    assert (workspace / "count.txt").read_text() == "1\n"


@pytest.mark.parametrize("command", ["flow", "run"])
async def test_a_nested_call_in_doubt_is_not_repeated_after_undone_rewinds(
    manus: Program, server: ScriptedServer, workspace: Path, command: str
) -> None:
    """The agent of a plan step, or of a delegated task, continues where it was killed."""
    if command == "flow":
        server.script(makes(free("alpha"), free("beta", 0)), succeeds("Alpha is done."))
    else:
        server.script(bash("echo alpha"), call("delegate", task="beta"))
    server.script(bash("echo 1 >> first.txt"))
    await kill_during(manus, server, "echo 1 >> count.txt", command)
    for _ in range(2):
        assert manus("rewind", "t", "--to", "1").code == 0
        assert manus("rewind", "t", "--undo").code == 0
    first_new = len(server.requests)
    server.script(succeeds("I see."), text("Done."))
    resumed = manus("resume", "t", "--json")
    assert (resumed.code, resumed.json["output"]) == (0, "Done."), resumed.err
    *_, last = server.requests[first_new].tool_results.values()
    assert "may have taken effect" in last
    assert (workspace / "first.txt").read_text() == "1\n"
    assert (workspace / "count.txt").read_text() == "1\n"
    assert "older than the record" not in resumed.err
    assert resumed.json["usage"]["model_calls"] == len(server.requests)


async def test_work_of_a_person_long_after_a_kill_is_no_longer_in_doubt(
    manus: Program, server: ScriptedServer, workspace: Path
) -> None:
    await kill_during(manus, server, "rm old.csv")
    assert manus("rewind", "t", "--to", "0", "--theirs").code == 0
    (workspace / "mine.txt").write_text("mine, changed")
    server.script(bash("echo 1 > new.txt"), text("Done."))
    assert manus("resume", "t").code == 0
    rewound = manus("rewind", "t", "--to", "0", "--theirs")
    assert "mine.txt" not in rewound.err
    assert (workspace / "mine.txt").read_text() == "mine, changed"
    assert not (workspace / "new.txt").exists()


async def test_a_killed_step_of_a_plan_is_in_doubt_too(
    manus: Program, server: ScriptedServer, workspace: Path
) -> None:
    server.script(makes(free("alpha")))
    await kill_during(manus, server, "rm old.csv", "flow")
    rewound = manus("rewind", "t", "--to", "0")
    assert rewound.code == 0, rewound.err
    assert "it is not known who has changed them: made.txt." in " ".join(rewound.err.split())
    assert (workspace / "old.csv").read_text() == "1"


async def test_changes_of_a_cancelled_call_are_restored(
    manus: Program, server: ScriptedServer
) -> None:
    workspace = manus.workspace
    (workspace / "data").mkdir(parents=True)
    (workspace / "data" / "a.csv").write_text("1")
    before = read(workspace)
    server.script(bash("rm -rf data; sleep 600"))
    with manus.start("run", "--thread", "t", "Clean up.") as running:
        await until(lambda: not (workspace / "data").exists())
        running.send_signal(signal.SIGINT)
        assert running.end().code == 130
    assert manus("rewind", "t", "--to", "0").code == 0
    assert read(workspace) == before


def test_snapshots_are_deleted_with_their_thread(
    manus: Program, states: list[dict[str, object]]
) -> None:
    folders = list((manus.home / ".local/state/manus/workspaces").glob("*/snapshots"))
    assert list(folders[0].glob("objects/[0-9a-f][0-9a-f]/*"))
    assert manus("rewind", "t", "--to", "1").code == 0
    assert manus("threads", "--delete", "t").code == 0
    assert not list(folders[0].glob("objects/[0-9a-f][0-9a-f]/*"))
    assert not list(folders[0].glob("objects/pack/*.pack"))
    assert not list(folders[0].parent.glob("rewinds/*"))


def test_a_fork_in_its_own_folder(
    manus: Program, server: ScriptedServer, states: list[dict[str, object]]
) -> None:
    elsewhere = manus.home / "elsewhere"
    forked = manus("fork", "t", "--to", "1", "--workspace", str(elsewhere))
    assert forked.code == 0, forked.err
    assert read(elsewhere) == states[1]
    assert read(manus.workspace) == states[3]
    new_id = forked.err.split()[2]
    server.script(bash("echo more >> data/a.csv"), text("Forked."))
    resumed = manus("resume", new_id, "--json")
    assert (resumed.code, resumed.json["output"]) == (0, "Forked."), resumed.err
    assert "record" not in " ".join(server.requests[-2].tool_results.values())
    assert (elsewhere / "data" / "a.csv").read_text() == "1\nmore\n"
    assert read(manus.workspace) == states[3]
    assert len(manus("history", "t", "--json").json) == 6
    assert manus("rewind", new_id, "--to", "1").code == 0
    assert read(elsewhere) == states[1]
    again = manus("fork", "t", "--at", "1", "--workspace", str(elsewhere))
    assert (again.code, "is not empty" in again.err) == (2, True)


def test_a_fork_in_the_same_folder(
    manus: Program, server: ScriptedServer, states: list[dict[str, object]]
) -> None:
    forked = manus("fork", "t", "--at", "2")
    assert forked.code == 0, forked.err
    assert read(manus.workspace) == states[3]
    server.script(text("Forked."))
    resumed = manus("resume", forked.err.split()[2], "--json")
    assert (resumed.code, resumed.json["output"]) == (0, "Forked.")
    assert len(server.requests[-1].tool_results) == 2


@pytest.fixture
def in_this_process(manus: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process use the program's home and folder."""
    monkeypatch.chdir(manus.home)
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in manus.environment.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("arguments", [["--to", "1"], ["--undo"]], ids=["rewind", "undo"])
def test_nothing_is_restored_if_the_present_files_cannot_be_recorded(
    manus: Program,
    states: list[dict[str, object]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
) -> None:
    assert manus("rewind", "t", "--to", "2").code == 0
    (manus.workspace / "lib" / "app.py").write_text("the work of a person")
    before = read(manus.workspace)
    monkeypatch.setattr(listing, "MAX_FILES", 1)
    assert execute(["rewind", "t", *arguments]) != 0
    assert "Nothing was restored" in " ".join(capsys.readouterr().err.split())
    assert read(manus.workspace) == before
    monkeypatch.undo()
    assert manus("show", "t").code == 0


def test_an_unreadable_record_of_a_rewind_blocks_nothing(
    manus: Program, server: ScriptedServer, states: list[dict[str, object]]
) -> None:
    assert manus("rewind", "t", "--to", "2").code == 0
    (record,) = (manus.home / ".local/state/manus/workspaces").glob("*/rewinds/*")
    record.write_text('{"of": "another release"}')
    server.script(text("Went on."))
    assert manus("resume", "t").code == 0
    refused = manus("rewind", "t", "--undo")
    assert (refused.code, "no rewind to undo" in refused.err) == (2, True)


async def test_damaged_snapshots_do_not_stop_a_resume(
    manus: Program, server: ScriptedServer, workspace: Path
) -> None:
    await kill_during(manus, server, "true")
    server.script(text("I see."))
    (folder,) = (manus.home / ".local/state/manus/workspaces").glob("*/snapshots")
    shutil.rmtree(folder / "objects")
    (folder / "objects").mkdir()
    resumed = manus("resume", "t")
    assert resumed.code == 0, resumed.err
    assert "Traceback" not in resumed.err


def test_a_run_without_changes_keeps_the_files_of_earlier_runs(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(bash("echo 1 > a.txt"), text("Written."), text("Just an answer."))
    manus("run", "--thread", "t", "Write")
    manus("run", "--thread", "t", "Answer")
    server.script(bash("echo 2 > b.txt"), text("Written, too."))
    manus("run", "--thread", "t", "Write more")
    history = manus("history", "t", "--json")
    assert [step["files"] for step in history.json] == [[], ["a.txt"], [], [], [], ["b.txt"], []]
    assert manus("rewind", "t", "--to", "4").code == 0
    assert set(read(manus.workspace)) == {"a.txt"}
