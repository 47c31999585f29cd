"""Lists in a conversation to pick from: threads, models, profiles."""

from tests.cli.program import Program
from tests.cli.test_conversation import ask, user_messages
from tests.server import ScriptedServer, text

LIST = "Enter picks, Esc leaves »"


def test_a_thread_is_picked_with_arrows_and_by_words(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(*[text("Done.")] * 3, text("Washed."), text("Swept."))
    for request in ("sweep the hall", "wash the car", "feed the cat"):
        assert manus("run", request).code == 0
    with manus.terminal() as terminal:
        ask(terminal, "/threads", "feed the cat", LIST)
        terminal.type("\x1b[B\r")
        terminal.expect("> wash the car")
        terminal.expect_last("> ")
        ask(terminal, "again", "Washed.")
        ask(terminal, "/threads", "3 of 3", LIST)
        terminal.type("hall")
        terminal.expect_last(f"1 of 3, {LIST} hall")
        terminal.type("\r")
        terminal.expect("> sweep the hall")
        terminal.expect_last("> ")
        ask(terminal, "once more", "Swept.")
        terminal.type("\x04")
        assert terminal.wait() == 0
    assert user_messages(server)[0] == "sweep the hall"
    assert user_messages(server)[-1] == "once more"


def test_a_model_is_picked_from_the_list_of_the_server(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(text("Hello."), text("Good day."))
    server.models = ["scripted", "gpt-5", "tiny"]
    with manus.terminal() as terminal:
        ask(terminal, "/model", "› scripted  ", LIST)
        terminal.type("\x1b[B\x1b[B\x1b[B\r")
        terminal.expect("The model is tiny.")
        ask(terminal, "/model tinny", "The server has no model tinny; it lists tiny")
        ask(terminal, "hello", "Hello.")
        ask(terminal, "/profile", "swe", LIST)
        terminal.type("swe\r")
        terminal.expect("The profile is swe.")
        ask(terminal, "hello", "Good day.")
        terminal.type("\x04")
        assert terminal.wait() == 0
    assert {request.body["model"] for request in server.requests} == {"tiny"}
    assert "use_tool" not in server.requests[-1].tool_names
