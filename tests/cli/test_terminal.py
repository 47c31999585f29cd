"""The program on a terminal: prompts, streaming, and input that must not get through."""

import re

import pytest
from rich.cells import cell_len

from tests.cli.program import Program
from tests.server import ScriptedServer, call, calls, hang, text


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "unmarked"])
def test_pasted_text_is_one_answer_and_nothing_is_left_for_the_shell(
    manus: Program, server: ScriptedServer, marked: bool
) -> None:
    server.script(call("ask_human", inquire="Which?"), text("Thanks."))
    pasted = "\n".join(f"touch from-the-shell-{i}" for i in range(40))
    with manus.terminal("run", "ask me") as terminal:
        terminal.expect("later): ")
        terminal.type(f"\x1b[200~{pasted}\x1b[201~\r" if marked else f"{pasted}\r")
        assert terminal.wait() == 0
        assert terminal.left_over() == ""
    assert [*server.requests[-1].tool_results.values()] == [pasted]


def test_a_streamed_thought_is_not_printed_twice(manus: Program, server: ScriptedServer) -> None:
    server.script(calls(call("bash", command="echo hi"), text="I say hi first."), text("Done."))
    terminal = manus.on_terminal("run", "say hi")
    assert terminal.text.count("I say hi first.") == 1
    lines = terminal.text.splitlines()
    assert "Step 1/60" in lines, terminal.text
    first = lines.index("Step 1/60")
    assert lines[first + 1] == "  I say hi first."
    assert re.fullmatch(r"  model   \d+\.\d s, .* tokens in, .* out", lines[first + 2])
    assert lines[first + 3] == "  call    bash: echo hi"


def test_escape_sequences_do_not_get_through(manus: Program, server: ScriptedServer) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J\x9b5n[bold]plain[/bold]"
    prints = call("bash", command="printf '\\033]0;mine\\007\\033[2Jx'")
    server.script(calls(prints, text=nasty), text(nasty))
    terminal = manus.on_terminal("run", nasty)
    visible = re.sub(r"\x1b\[[0-9;]*[mAK]|\x1b\[\?25[lh]", "", terminal.raw)
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", visible)
    assert "owned" not in visible
    assert "[bold]plain[/bold]\n" in terminal.text


WRITES = call("str_replace_editor", command="create", path="a.txt", file_text="wörds 世界 " * 60)
EDITS = [
    call("str_replace_editor", command="create", path="a.py", file_text="one = 1\n世 = 2\n"),
    call("str_replace_editor", command="str_replace", path="a.py", old_str="= 1", new_str="= 3"),
]


def test_colors_only_where_they_are_wanted(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    server.script(*EDITS, text("a"), WRITES, text("b"), text("c"), text("d"))
    with manus.terminal("run") as terminal:
        terminal.expect("What should be done? ")
        terminal.type("Say grüße\n")
        assert terminal.wait() == 0
    assert server.requests[0].messages[-2]["content"] == "Say grüße"
    assert "\x1b[1mStep 1/60" in terminal.raw
    lines = [line.strip() for line in terminal.text.splitlines()]
    changed = [line for line in lines if line[:1] in ("+", "-")]
    assert changed == ["+one = 1", "+世 = 2", "-= 1", "+= 3"]
    assert re.search(r"\x1b\[[0-9;]*196m *-= 1", terminal.raw)
    result = manus.on_terminal("run", "--json", "write")
    assert "\x1b[2K" not in result.raw, "nothing is redrawn"
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with subtests.test(name=name, value=value):
            manus.environment[name] = value
            plain = manus.on_terminal("run", "x").raw
            assert "Step 1/60" in plain
            assert "\x1b" not in plain


def test_the_arguments_of_a_call_are_shown_as_they_arrive(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(hang(reply=calls(WRITES, text="I write."), after_chunks=8))
    with manus.terminal("run", "write") as terminal:
        terminal.expect("characters): …")
        line = terminal.text.splitlines()[-1]
        assert line.startswith("  call    str_replace_editor (")
        assert cell_len(line) < 80, "one line, whatever its length"
        assert "wörds" in line or "世" in line
        assert not set('{"') & set(terminal.raw), "no JSON has been shown"
        terminal.type("\x03")
        assert terminal.wait() == 130
    assert "characters)" not in terminal.text, "it is erased"


ANSWER = (
    "The calculator is done: `calculator.py` has add and subtract.\n"
    "- its tests pass, division by zero too\n"
    "計算器完成了：有加法、減法、乘法和除法，測試都通過了。\n"
    "```sh\npython calculator.py 6 times 7 --and more options\n```"
)


def test_the_answer_is_rendered_once_and_raw_in_a_pipe(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(text(ANSWER), text(ANSWER))
    output = manus.on_terminal("run", "x", columns=40).text
    assert output.count("has add and subtract") == 1
    assert "`" not in output[output.index("The calc") :], "Markdown is rendered"
    assert " • its tests pass" in output
    assert all(cell_len(line) <= 40 for line in output[output.index("The calc") :].splitlines()[:9])
    quiet = manus("run", "--quiet", "x", COLUMNS="40")
    assert (quiet.out, quiet.err) == (f"{ANSWER}\n", "")


def test_a_failed_command_shows_how_it_failed(manus: Program, server: ScriptedServer) -> None:
    failing = "seq 1 20; echo no such test >&2; exit 4"
    server.script(call("bash", command=f"bash -c '{failing}'"), text("It failed."))
    lines = manus("run", "test it").err.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("  failed  bash, "))
    assert lines[at].endswith("exit code 4")
    diff = [line.strip() for line in lines[at + 1 : at + 6]]
    assert diff == ["17", "18", "19", "20", "no such test"]


def test_the_latest_output_of_a_running_tool_is_shown(
    manus: Program, server: ScriptedServer
) -> None:
    slow = "for i in 1 2 3 4 5 6 7 8 世界; do echo so far $i; done; touch begun; sleep 300"
    server.script(call("bash", command=slow))
    with manus.terminal("run", "wait", columns=40) as terminal:
        terminal.expect("so far 世界")
        terminal.expect(" s", last=True)
        assert re.fullmatch(r"  . bash \d+ s", terminal.text.splitlines()[-1])
        lines = terminal.text.splitlines()
        assert lines[-7:-1] == [f"    so far {i}" for i in (4, 5, 6, 7, 8, "世界")]
        assert all(cell_len(line) <= 40 for line in lines[-7:])
        terminal.type("\x03")
        assert terminal.wait() == 130
    assert "so far 世界" not in terminal.text
    assert "\x1b[?25h" in terminal.raw.rpartition("\x1b[?25l")[2], "the cursor is back"


def test_verbose_shows_everything(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    script = "seq 20\necho end of it"
    server.script(calls(call("bash", command=script), text="First\nthis."), text("Done."))
    stderr = manus("run", "-v", "count").err.splitlines()
    at = stderr.index("          command: seq 20")
    assert stderr[at + 1] == "          echo end of it"
    for message in ("  First", "  this.", *(f"          {i}" for i in range(1, 21))):
        with subtests.test(message=message):
            assert message in stderr


@pytest.mark.parametrize("command", ["doctor", "threads", "trust"])
def test_lines_are_wrapped_between_words(bare: Program, command: str) -> None:
    """A line is wider than the terminal only if it has a word that does not fit."""
    with bare.terminal(command, columns=60) as terminal:
        terminal.wait()
    assert terminal.text.strip()
    for line in terminal.text.splitlines():
        longest = max(map(cell_len, line.split()), default=0)
        assert cell_len(line) <= 60 or longest > 60 - 18, line
