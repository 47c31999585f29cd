"""Typing in a conversation during a run: to the agent immediately, or after the run."""

import pytest
from rich.cells import cell_len

from manus.cli.composer import EditBuffer
from tests.cli.program import Program, Terminal
from tests.cli.test_conversation import ask, user_messages
from tests.flow.helpers import is_planner, is_step, is_summary, makes, succeeds
from tests.helpers.pause import Pause
from tests.server import ScriptedServer, call, text

HINT = "Enter sends a message to the agent now, Tab after this run"


@pytest.fixture
def pause() -> Pause:
    return Pause()


def begin(terminal: Terminal, server: ScriptedServer, words: str) -> None:
    """Start a run whose model does not reply yet."""
    terminal.expect_last("> ")
    terminal.type(f"{words}\r")
    terminal.expect(HINT)
    server.wait_for(1)


LOOKS = call("bash", command="true")


def test_enter_sends_to_the_agent_and_shows_where_it_was_read(
    manus: Program, server: ScriptedServer, pause: Pause
) -> None:
    server.script(pause.before(LOOKS), text("Done."))
    with manus.terminal() as terminal:
        begin(terminal, server, "do it")
        terminal.type("use täbs 世界")
        terminal.expect("» use täbs 世界")
        terminal.type("\x7f\x7f界\r")
        terminal.expect("  at the next step: use täbs 界")
        pause.end()
        terminal.expect("Done.")
        terminal.expect_last("> ")
        assert "  you     use täbs 界\n" in terminal.text
        assert "at the next step" not in terminal.text, "it was read"
        assert HINT not in terminal.text
        run = terminal.text.partition("> do it")[2]
        assert [line for line in run.splitlines() if cell_len(line) > 80] == []
        terminal.type("\x04")
        assert terminal.wait() == 0
    assert user_messages(server)[-1].endswith("\n\nuse täbs 界")


def test_tab_and_a_command_queue(manus: Program, server: ScriptedServer, pause: Pause) -> None:
    server.script(pause.before(text("Done.")), text("Swept."), text("Rested."))
    with manus.terminal() as terminal:
        begin(terminal, server, "do it")
        terminal.type("then sweep\t")
        terminal.expect("  after this run: then sweep")
        terminal.type("/queue then rest\r")
        terminal.expect("  after this run: then rest")
        pause.end()
        terminal.expect("Rested.")
        terminal.expect_last("> ")
        lines = terminal.text.splitlines()
        assert [line for line in lines if line.startswith("> ")] == [
            "> do it",
            "> then sweep",
            "> then rest",
        ]
        terminal.type("\x04")
        assert terminal.wait() == 0
    assert user_messages(server) == ["do it", "then sweep", "then rest"]


def test_withdrawn_before_it_is_read(manus: Program, server: ScriptedServer, pause: Pause) -> None:
    server.script(pause.before(LOOKS), text("Done."))
    with manus.terminal() as terminal:
        begin(terminal, server, "do it")
        for words in ("eins", "zwei"):
            terminal.type(f"{words}\r")
            terminal.expect(f"at the next step: {words}")
        terminal.type("/withdraw\r")
        terminal.expect("  withdrawn: zwei")
        terminal.type("/help\r")
        terminal.expect("While the agent works, use")
        pause.end()
        terminal.expect("Done.")
        terminal.expect_last("> ")
        terminal.type("\x04")
        assert terminal.wait() == 0
    assert "eins" in user_messages(server)[-1]
    assert "zwei" not in server.requests[-1].text


def test_unsent_input_is_kept_for_the_next_prompt(
    manus: Program, server: ScriptedServer, pause: Pause
) -> None:
    server.script(pause.before(text("Done.")), text("Thanked."))
    with manus.terminal() as terminal:
        begin(terminal, server, "do it")
        terminal.type("thank y")
        terminal.expect("» thank y")
        pause.end()
        terminal.expect_last("> thank y")
        ask(terminal, "ou", "Thanked.")
        terminal.type("\x04")
        assert terminal.wait() == 0
    assert user_messages(server) == ["do it", "thank you"]


def test_a_question_is_answered_as_before(
    manus: Program, server: ScriptedServer, pause: Pause
) -> None:
    server.script(pause.before(call("ask_human", inquire="Which?")), pause.before(text("Done.")))
    with manus.terminal() as terminal:
        begin(terminal, server, "do it")
        pause.end()
        terminal.expect_last("later):")
        assert HINT not in terminal.text
        terminal.type("red\r")
        terminal.expect(HINT)
        pause.end()
        terminal.expect("Done.")
        terminal.expect_last("> ")
        terminal.type("\x04")
        assert terminal.wait() == 0
    assert [*server.requests[-1].tool_results.values()] == ["red"]


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "unmarked"])
def test_a_paste_is_one_message(
    manus: Program, server: ScriptedServer, pause: Pause, marked: bool
) -> None:
    server.script(pause.before(LOOKS), text("Done."))
    pasted = "one\ntwo\nthree"
    with manus.terminal() as terminal:
        begin(terminal, server, "do it")
        terminal.type(f"\x1b[200~{pasted}\x1b[201~" if marked else pasted)
        terminal.expect("» one⏎two⏎three")
        terminal.type("\r")
        terminal.expect("at the next step: one two three")
        pause.end()
        terminal.expect("Done.")
        terminal.expect_last("> ")
        terminal.type("\x04")
        assert terminal.wait() == 0
    assert user_messages(server)[-1].endswith(pasted)
    assert terminal.raw.count("\x1b[?2004h") <= terminal.raw.count("\x1b[?2004l")


def test_ctrl_c_stops_the_run_and_the_terminal_is_as_before(
    manus: Program, server: ScriptedServer, pause: Pause
) -> None:
    server.script(pause.before(text("Never.")))
    with manus.terminal() as terminal:
        begin(terminal, server, "do it")
        terminal.type("half")
        terminal.expect("» half")
        terminal.type("\x03")
        terminal.expect("Stopped. Say how to go on")
        terminal.expect_last("> half")
        pause.end()
        terminal.type("\x15\x04")
        assert terminal.wait() == 0
        assert terminal.echoes()


def test_a_message_during_a_plan_stays_below_it(
    manus: Program, server: ScriptedServer, pause: Pause
) -> None:
    server.when(is_planner, makes("alpha"))
    server.when(is_step("alpha"), pause.before(LOOKS), succeeds())
    server.when(is_summary, text("All."))
    with manus.terminal("--approve", "yolo") as terminal:
        terminal.expect_last("> ")
        terminal.type("/plan do it\r")
        terminal.expect_last("Ctrl-D later")
        terminal.type("y\r")
        server.wait_for(2)
        terminal.expect(HINT)
        terminal.type("in Celsius\r")
        terminal.expect("at the next step: in Celsius")
        assert "0. [→] alpha" in terminal.text
        pause.end()
        terminal.expect("All.")
        terminal.expect_last("> ")
        assert "  you     in Celsius" in terminal.text
        terminal.type("\x04")
        assert terminal.wait() == 0


@pytest.mark.parametrize("cursor", [0, 5, 40, 200])
def test_a_long_line_shows_what_is_around_the_cursor(cursor: int) -> None:
    line = EditBuffer()
    line.insert("世界 and more " * 20)
    line.cursor = min(cursor, len(line.text))
    row = line.render(40)
    assert cell_len(row.plain) <= 40
    [at] = [span for span in row.spans if span.style == "reverse"]
    assert row.plain[at.start] == (line.text + " ")[line.cursor]


@pytest.mark.parametrize(
    ("keys", "result"),
    [
        (["c-h"], "one tw"),
        (["c-w"], "one "),
        (["c-u"], ""),
        (["home", "delete"], "ne two"),
        (["left", "left", "left", "c-k"], "one "),
        (["c-a", "right", "c-h"], "ne two"),
    ],
)
def test_editing_keys(keys: list[str], result: str) -> None:
    line = EditBuffer()
    line.insert("one two")
    for key in keys:
        line.edit(key)
    assert line.text == result


def test_without_a_run_the_commands_still_work(
    manus: Program, server: ScriptedServer, pause: Pause
) -> None:
    server.script(pause.before(text("Never.")), text("Swept."))
    with manus.terminal() as terminal:
        begin(terminal, server, "do it")
        terminal.type("use tabs\r")
        terminal.expect("at the next step")
        terminal.type("\x03")
        terminal.expect("Stopped. Say how to go on")
        terminal.expect_last("> ")
        pause.end()
        ask(terminal, "/withdraw", "Withdrawn: use tabs")
        ask(terminal, "/withdraw", "There are no unread messages.")
        ask(terminal, "/queue sweep up", "Swept.")
        terminal.type("\x04")
        assert terminal.wait() == 0
    assert "use tabs" not in server.requests[-1].text
