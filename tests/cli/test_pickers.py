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


def test_continuing_asks_if_the_newest_thread_is_of_another_folder(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(text("Swept."), text("Washed."), text("Again."))
    manus("run", "sweep the hall")
    manus("run", "--workspace", "garage", "wash the car")
    with manus.terminal("-c") as terminal:
        terminal.expect_last(f"2 of 2, {LIST}")
        assert "  garage " in terminal.text
        terminal.type("\r")  # the newest thread of this folder
        terminal.expect("> sweep the hall")
        terminal.expect_last("> ")
        ask(terminal, "again", "Again.")
        terminal.type("\x04")
        assert terminal.wait() == 0
    with manus.terminal("-c") as terminal:
        terminal.expect("> again")
        terminal.expect_last("> ")
        terminal.type("\x04")
        assert terminal.wait() == 0
    assert "Esc leaves" not in terminal.text


def test_a_title_stays_after_a_run_and_an_undo(manus: Program, server: ScriptedServer) -> None:
    server.script(*map(text, ("Swept.", "Again.", "Washed.")))
    with manus.terminal() as terminal:
        ask(terminal, "/rename House", "This conversation is empty so far.")
        ask(terminal, "sweep the hall", "Swept.")
        terminal.type("/rename  the   house\r")
        terminal.expect_last("house\n> ")
        ask(terminal, "again", "Again.")
        ask(terminal, "/undo", "step 1")
        ask(terminal, "wash the car", "Washed.")
        terminal.type("\x04")
        assert terminal.wait() == 0
    [thread] = manus("threads", "--json").json
    assert thread["request"] == "the house"
    assert manus("threads", "--rename", thread["thread_id"], "A car").code == 0
    assert manus("threads", "--json").json[0]["request"] == "A car"
    refused = manus("threads", "--rename", thread["thread_id"], " ")
    assert (refused.code, "The title is empty" in refused.err) == (2, True)


def test_a_conversation_is_compacted_on_demand(manus: Program, server: ScriptedServer) -> None:
    server.script(text("Swept."), text("Washed."), text("Fed."))
    server.when(
        lambda request: "You keep the notes" in str(request.messages[0]), text("## Done\n- Swept")
    )
    with manus.terminal() as terminal:
        ask(terminal, "/compact", "This conversation is empty so far.")
        ask(terminal, "sweep the hall", "Swept.")
        ask(terminal, "wash the car", "Washed.")
        ask(terminal, "/compact", "The notes are written before your next request.")
        ask(terminal, "feed the cat", "Fed.")
        terminal.type("\x04")
        assert terminal.wait() == 0
    last = str(server.requests[-1].messages)
    assert "- Swept" in last
    assert "Swept.'" not in last
    first, _notes, *others = user_messages(server)
    assert (first, others) == ("sweep the hall", ["wash the car", "feed the cat"])
