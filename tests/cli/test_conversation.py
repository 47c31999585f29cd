"""`manus` without a command on a terminal: requests on one thread, with commands in between."""

import pytest

from tests.cli.program import Program, Terminal
from tests.server import Call, ScriptedServer, call, hang, text


def user_messages(server: ScriptedServer, number: int = -1) -> list[str]:
    """Return the user's messages of a request, without the next-step prompt at the end."""
    messages = server.requests[number].messages[:-1]
    return [str(m["content"]) for m in messages if m["role"] == "user"]


def ask(terminal: Terminal, words: str, answer: str, then: str = "> ") -> None:
    """Type a line, and wait for its effect and the next prompt."""
    terminal.type(f"{words}\r")
    terminal.expect(answer)
    terminal.expect_last(then)


def test_requests_follow_one_another_on_a_thread(manus: Program, server: ScriptedServer) -> None:
    server.script(text("**Four** of them."), text("Two are large."), text("Done."), text("Again."))
    with manus.terminal() as terminal:
        ask(terminal, "/history", "This conversation is empty so far.")
        ask(terminal, "count the files", "Four of them.")
        ask(terminal, "which are large?", "Two are large.")
        ask(terminal, "/threads", "finished", "Esc leaves »")
        terminal.type("\x1b")
        terminal.expect_last("> ")
        ask(terminal, "/cost", "2 requests, ")
        ask(terminal, "/nothing", "Unknown command /nothing")
        ask(terminal, "!echo from-$((40 + 2))", "from-42")
        ask(terminal, "/new", "new thread")
        ask(terminal, "sweep up", "Done.")
        terminal.type("\x1b[A\x1b[A")
        terminal.expect_last("> /new")
        terminal.type("\x03\x04")
        assert terminal.wait() == 0
    assert user_messages(server, 1) == ["count the files", "which are large?"]
    assert user_messages(server, 2) == ["sweep up"]
    assert len(manus("threads", "--json").json) == 2
    with manus.terminal("-c") as terminal:
        terminal.expect("> sweep up")
        ask(terminal, "once more", "Again.")
    assert user_messages(server) == ["sweep up", "once more"]
    history = manus.home / ".local/state/manus/history"
    assert history.stat().st_mode & 0o777 == 0o600


def test_own_commands_are_files(manus: Program, server: ScriptedServer) -> None:
    project = manus.home / "project"
    own = manus.home / ".config/manus/commands"
    for folder in (own, project / ".claude/commands"):
        folder.mkdir(parents=True)
    (own / "tidy.md").write_text("# Tidy up\nTidy up everything.\n")
    (own / "fix.md").write_text("Not this one.")
    fix = "---\ndescription: Fix an issue\n---\nFix the issue $1 as $ARGUMENTS says."
    (project / ".claude/commands/fix.md").write_text(fix)
    server.script(text("Fixed."), text("Tidied."))
    with manus.terminal("--workspace", "project") as terminal:
        ask(terminal, "/help", "/fix        Fix an issue")
        ask(terminal, "/fix 12 soon", "Fixed.")
        ask(terminal, "/tidy the attic", "Tidied.")
        ask(terminal, "/exit", "", "")
        assert terminal.wait() == 0
    fixed, tidied = user_messages(server)
    assert fixed == "Fix the issue 12 as 12 soon says."
    assert tidied == "# Tidy up\nTidy up everything.\n\nthe attic"
    manus.environment["MANUS_TRUST"] = "0"
    server.script(text("Other."))
    with manus.terminal("--workspace", "project") as terminal:
        terminal.expect("n no")
        terminal.type("n\r")
        terminal.expect_last("> ")
        ask(terminal, "/fix 1", "Other.")
    assert user_messages(server) == ["Not this one.\n\n1"]


def test_ctrl_c_stops_the_run_and_not_the_conversation(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(text("Hello."), hang(reply=text("Never."), after_chunks=0), text("Thought."))
    with manus.terminal() as terminal:
        ask(terminal, "hello", "Hello.")
        ask(terminal, "think", "thinking 1 s", "")
        terminal.type("\x03")
        terminal.expect("Say how to go on")
        assert terminal.text.count("Hello.") == 1  # earlier output is not the answer to this
        ask(terminal, "/resume", "Thought.")
        ask(terminal, "/resume", "Nothing to resume")
        terminal.type("dropped")
        terminal.expect_last("> dropped")
        terminal.type("\x03")
        terminal.expect_last("> ")
        terminal.type("\x03")
        terminal.expect("or Ctrl-D to leave.")
        terminal.expect_last("> ")
        terminal.type("\x03")
        assert terminal.wait() == 0
    assert user_messages(server) == ["hello", "think"]


def test_a_stopped_reply_stays_on_the_screen_and_in_the_thread(
    manus: Program, server: ScriptedServer
) -> None:
    long_reply = hang(reply=text("The first planet is Mercury. " * 20), after_chunks=3)
    server.script(text("Hello."), long_reply, text("Jupiter."))
    with manus.terminal() as terminal:
        ask(terminal, "hello", "Hello.")
        ask(terminal, "name the planets", "The first planet", "")
        terminal.type("\x03")
        terminal.expect("Say how to go on, or press Enter to leave it.")
        terminal.expect_last("> ")
        ask(terminal, "", "> ")
        shown = terminal.text
        ask(terminal, "only the largest", "Jupiter.")
    assert shown.count("The first planet is Mercury.") >= 1
    assert "Cancelled" not in shown
    assert "exit immediately" not in shown
    [streamed] = [m["content"] for m in server.requests[2].messages if m["role"] == "assistant"][1:]
    assert streamed.startswith("The first planet is Mercury.")
    assert streamed.endswith("[The user stopped this reply here.]")
    assert user_messages(server) == ["hello", "name the planets", "only the largest"]


def test_a_run_stopped_before_any_text_has_no_answer(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(text("Hello."), hang(reply=text("Never."), after_chunks=0), text("Resumed."))
    with manus.terminal() as terminal:
        ask(terminal, "hello", "Hello.")
        ask(terminal, "think", "thinking 1 s", "")
        terminal.type("\x03")
        terminal.expect("Say how to go on")
    with manus.terminal("-c") as terminal:
        terminal.expect("> think")
        terminal.expect_last("> ")
        assert "Cancelled" not in terminal.text
        ask(terminal, "/resume", "Resumed.")


def test_an_open_question_is_answered_by_the_next_input(
    manus: Program, server: ScriptedServer
) -> None:
    asks = [call("ask_human", inquire=f"Which {subject}?") for subject in ("colour", "room")]
    server.script(*asks, text("Painted."))
    with manus.terminal() as terminal:
        ask(terminal, "paint", "Which colour?", "later):")
        ask(terminal, "red", "Which room?", "later):")
        ask(terminal, "/exit", "is the answer")
        terminal.type("/exit\r")
        assert terminal.wait() == 0
    with manus.terminal("-c") as terminal:
        terminal.expect("Which room?")
        terminal.expect("is the answer")
        ask(terminal, "the hall", "Painted.")
    assert [*server.requests[-1].tool_results.values()] == ["red", "the hall"]


def edit(path: str, text: str) -> Call:
    return call("str_replace_editor", command="create", path=path, file_text=text)


def test_named_files_and_images_are_attached(manus: Program, server: ScriptedServer) -> None:
    server.script(text("Seen."))
    manus.workspace.mkdir()
    (manus.workspace / "notes.txt").write_text("buy milk")
    picture = manus.home / "my shot.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    with manus.terminal() as terminal:
        terminal.expect_last("> ")
        terminal.type("compare @no")
        terminal.expect_last("notes.txt")
        terminal.type("\t")
        terminal.expect("@notes.txt")
        ask(terminal, f" with '{picture}', a@b.c", "Seen.")
    content = server.requests[0].messages[-2]["content"]
    assert "buy milk" in content[0]["text"]
    assert [part["type"] for part in content] == ["text", "image_url"]


def test_a_paste_of_many_lines_is_one_mark_until_it_is_sent(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(text("Read."), text("Again."))
    pasted = "\n".join(f"line {number}" for number in range(8))
    with manus.terminal() as terminal:
        terminal.expect_last("> ")
        terminal.type(f"explain \x1b[200~{pasted}\x1b[201~, please")
        terminal.expect_last("> explain [paste 1: 8 lines], please")
        ask(terminal, "", "Read.")
        terminal.type("\x1b[200~a\nb\x1b[201~")
        terminal.expect_last("> a\nb")
        ask(terminal, "", "Again.")
        ask(terminal, "/report page.html", "is in page.html")
        terminal.type("\x04")
        assert terminal.wait() == 0
    assert user_messages(server) == [f"explain {pasted}, please", "a\nb"]
    assert (manus.home / "page.html").exists()
    assert "context 2% of 128k" in terminal.text


def test_a_plan_gets_the_conversation_and_its_result_is_added(
    manus: Program, server: ScriptedServer
) -> None:
    plan = call("planning", command="create", title="Trip", steps=["Pack the bag"])
    replies = map(text, ("Packed.", "All is packed.", "A bag."))
    server.script(text("The sea is near."), plan, *replies)
    with manus.terminal() as terminal:
        ask(terminal, "where is the sea?", "The sea is near.")
        ask(terminal, "/plan go there", "Plan: Trip", "Ctrl-D later")
        terminal.type("\x04")
        terminal.expect("is the answer")
        assert terminal.text.count("Plan: Trip") == 1
        assert terminal.text.count("Execute this plan?") == 1
        ask(terminal, "yes", "All is packed.")
        ask(terminal, "what did we pack?", "A bag.")
    assert "The sea is near." in user_messages(server, 1)[-1]
    first, *_, last = user_messages(server)
    assert (first, "All is packed." in last) == ("where is the sea?", True)


def test_a_sentence_is_a_request(manus: Program, server: ScriptedServer) -> None:
    server.script(text("Hello."))
    assert manus("say hello").out == "Hello.\n"
    assert manus("chat").code == 2, "there is no terminal"


@pytest.mark.parametrize(
    "options",
    [
        ["--approve", "ask", "--model", "of-flag", "--workspace", "place"],
        ["--workspace=a place", "--profile", "swe", "--model=of-flag"],
    ],
)
def test_options_alone_start_a_conversation(
    manus: Program, server: ScriptedServer, options: list[str]
) -> None:
    server.script(text("Hello."))
    with manus.terminal(*options) as terminal:
        terminal.expect("manus, with of-flag")
        ask(terminal, "hello", "Hello.")
        terminal.type("/exit\r")
        assert terminal.wait() == 0
    assert "`manus -c` continues it" in terminal.text
    assert server.requests[-1].body["model"] == "of-flag"
    assert ("use_tool" in server.requests[-1].tool_names) == ("swe" not in options)


@pytest.mark.parametrize(
    "words",
    [
        ["--model", "of-flag", "run", "--json", "Count them."],
        ["--model", "of-flag", "--json", "Count them."],
        ["Count them.", "--model", "of-flag", "--json"],
        ["--thread", "run", "run", "--json", "--model", "of-flag", "--", "Count them."],
    ],
)
def test_options_may_precede_the_command_or_the_request(
    manus: Program, server: ScriptedServer, words: list[str]
) -> None:
    server.script(text("Three."))
    assert manus(*words).json["output"] == "Three."
    assert server.requests[-1].body["model"] == "of-flag"
    assert user_messages(server) == ["Count them."]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--aprove", "ask"], "did you mean --approve?"),
        (["--model"], "requires an argument"),
        (["--model", "x", "typo"], "No such command 'typo'"),
        (["--profile", "swe"], "`manus chat` needs a terminal"),
    ],
)
def test_options_that_start_nothing(manus: Program, words: list[str], problem: str) -> None:
    result = manus(*words)
    assert (result.code, result.err.count("\n"), problem in result.err) == (2, 1, True), result.err


def test_the_bell_rings_when_long_work_ends_or_asks(manus: Program, server: ScriptedServer) -> None:
    for seconds, rings in (("0", 2), ("inf", 0)):
        manus.environment["MANUS_BELL_AFTER"] = seconds
        server.script(call("ask_human", inquire="Which?"), text("This one."))
        with manus.terminal("run", "Choose.") as terminal:
            terminal.expect("Your answer")
            terminal.type("a\r")
            assert terminal.wait() == 0
        assert terminal.raw.count("\a") == rings
