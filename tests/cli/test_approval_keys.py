"""Questions at the terminal that keys answer: about calls, plans, held files and trust."""

import json

import pytest

from tests.cli.program import Program
from tests.safety.test_held import PLANT
from tests.server import Call, ScriptedServer, call, text

KEYS = "  y yes  n no  r this run  a always here  e edit  Tab reason  Ctrl-D later"
SELECTED = "  y yes  n no  r this run  a always here  e edit  Enter answers"
DECLINED = "the user declined"
ANSWERS = [
    ("y\r", ""),
    ("Y\r", ""),
    ("yes\r", ""),
    ("r\r", ""),
    ("a\r", ""),
    ("\x1b[C\r", ""),
    ("\x1b[A\x1b[A\r", ""),
    ("\x1b[B\x1b[B\r", f"{DECLINED}."),
    ("n\r", f"{DECLINED}."),
    ("\r\rn\r", f"{DECLINED}."),
    ("no: use tabs\r", f"{DECLINED}: use tabs."),
    ("\tuse tabs\r", f"{DECLINED}: use tabs."),
]


def create(number: int) -> Call:
    path = f"file-{number}"
    return call("str_replace_editor", command="create", path=path, file_text="hi\n")


def test_keys_and_words_answer_questions_about_calls(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    server.script(*map(create, range(len(ANSWERS))), text("Done."))
    with manus.terminal("run", "--approve", "ask", "say hi") as terminal:
        for number, (keys, _) in enumerate(ANSWERS):
            terminal.expect(f"  │ create file-{number}")
            terminal.expect_last(KEYS)
            terminal.type(keys)
        assert terminal.wait() == 0, terminal.text
        assert terminal.left_over() == ""
    assert "Answer `yes`" not in terminal.text
    results = list(server.requests[-1].tool_results.values())
    for number, (keys, refusal) in enumerate(ANSWERS):
        with subtests.test(keys=keys):
            assert refusal in results[number]
            assert (manus.workspace / f"file-{number}").exists() is (not refusal)


UNCLEAR = ["you must not\r", "approve of nothing yet\r", "rather not\r", "always ask\r", "maybe\r"]


def test_words_that_are_neither_yes_nor_no_ask_again(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(create(0), text("Done."))
    with manus.terminal("run", "--approve", "ask", "say hi") as terminal:
        for words in UNCLEAR:
            terminal.expect_last(KEYS)
            terminal.type(words)
            terminal.expect(f"`{words.strip()}` is neither a clear yes nor a clear no")
        # however slowly: the first letter selects a choice, and answers nothing
        terminal.expect_last(KEYS)
        terminal.type("y")
        terminal.expect_last(f"{SELECTED}  y")
        terminal.type("ou may not\r")
        terminal.expect("`you may not` is neither a clear yes nor a clear no")
        terminal.expect_last(KEYS)
        terminal.type("n\r")
        assert terminal.wait() == 0
    assert DECLINED in str(server.requests[-1].tool_results)
    assert not (manus.workspace / "file-0").exists()


def test_an_edit_is_prefilled_and_kept_until_it_can_be_read(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(create(0), text("Done."))
    with manus.terminal("run", "--approve", "ask", "say hi") as terminal:
        terminal.expect_last(KEYS)
        terminal.type("e\r")
        terminal.expect('» command = "create"\npath = "file-0"\nfile_text = """hi\n"""')
        terminal.type("x\r")
        terminal.expect_last('"""x')
        terminal.expect("at line 4")
        terminal.expect_last('"""x')
        terminal.type("\x7f\x1b[D\x1b[D\x1b[Dall\r")
        assert terminal.wait() == 0, terminal.text
    assert (manus.workspace / "file-0").read_text() == "hi\nall"


@pytest.mark.parametrize(("editor", "printed"), [("sed -i s/hi/ho/", "ho"), ("false", "hi")])
def test_an_edit_opens_the_editor(
    manus: Program, server: ScriptedServer, editor: str, printed: str
) -> None:
    server.script(call("bash", command="echo hi\n# and > said"), text("Done."))
    manus.environment["EDITOR"] = editor
    with manus.terminal("run", "--approve", "ask", "say hi") as terminal:
        terminal.expect_last("Ctrl-D later")
        terminal.type("e\r")
        if editor == "false":
            terminal.expect("Editing failed")
            terminal.expect_last("Ctrl-D later")
            terminal.type("y\r")
        assert terminal.wait() == 0, terminal.text
    [result] = server.requests[-1].tool_results.values()
    assert printed in result.splitlines()


@pytest.mark.sandboxed
def test_a_key_answers_the_question_about_held_files(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(call("bash", command=PLANT), text("Done."))
    with manus.terminal("run", "set it up") as terminal:
        terminal.expect_last("  y yes  n no  Tab reason  Ctrl-D later")
        assert "Answer `yes`" not in terminal.text
        terminal.type("y\r")
        assert terminal.wait() == 0, terminal.text


def test_a_thread_whose_question_is_asked_again_is_waiting(
    manus: Program, server: ScriptedServer, subtests: pytest.Subtests
) -> None:
    server.script(create(0), call("planning", command="create", title="Trip", steps=["Pack"]))
    manus("run", "--thread", "call", "--approve", "ask", "say hi")
    manus("flow", "--thread", "plan", "--approve-plan", "go there")
    for thread, unclear in [("call", "maybe"), ("plan", "edit 9: nothing")]:
        for _ in range(2):
            assert manus("resume", thread, "--answer", unclear).code == 1
    for thread in json.loads(manus("threads", "--json").out):
        with subtests.test(thread=thread["thread_id"]):
            assert thread["status"] == "waiting"
