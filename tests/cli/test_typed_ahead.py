"""Lines that the user types before the program reads them: each is read by the prompt it is for."""

import asyncio
import io
import os
import sys

import pytest

from manus.cli.composer import Composer
from manus.cli.screen import Screen
from manus.state.errors import UsageError
from manus.threads.records.inbox import InboxMessage, new_message
from tests.cli.program import Program, wait_until
from tests.cli.test_conversation import ask, user_messages
from tests.helpers.pause import Pause
from tests.server import ScriptedServer, call, text

LIST = "Enter picks, Esc leaves »"


@pytest.mark.parametrize("is_busy", [False, True], ids=["at the prompt", "during a command"])
def test_each_line_after_a_command_is_an_input(
    manus: Program, server: ScriptedServer, is_busy: bool
) -> None:
    server.script(text("Swept."), text("Washed."))
    lines = ["/rename  the   house", "/cost", "/nothing", "!echo from-$((40 + 2))", "/profile swe"]
    with manus.terminal() as terminal:
        ask(terminal, "sweep the hall", "Swept.")
        if is_busy:  # the terminal is in line mode until the file is removed
            busy = manus.home / "busy"
            terminal.type(f"!touch {busy}; while [ -e {busy} ]; do sleep 0.01; done\r")
            wait_until(busy.exists, "the file")
        terminal.type("".join(f"{line}\r" for line in [*lines, "wash the car"]))
        if is_busy:
            busy.unlink()
        terminal.expect("Washed.")
        terminal.expect_last("> ")
    for effect in ("1 request, ", "Unknown command /nothing", "from-42", "The profile is swe."):
        assert effect in terminal.text
    assert user_messages(server) == ["sweep the hall", "wash the car"]
    assert manus("threads", "--json").json[0]["request"] == "the house"


def test_a_list_does_not_take_what_was_typed_before_it(
    manus: Program, server: ScriptedServer
) -> None:
    server.script(text("Swept."), text("Again."))
    with manus.terminal() as terminal:
        ask(terminal, "sweep the hall", "Swept.")
        terminal.type("/threads\ranother\r")
        terminal.expect_last(LIST)
        terminal.type("\x1b")
        terminal.expect("Again.")
        terminal.expect_last("> ")
        terminal.type("/profile\r")
        terminal.expect_last(LIST)
        terminal.type("swe\r/cost\r")
        terminal.expect("The profile is swe.")
        terminal.expect("2 requests")
        terminal.type("\x04")
        assert terminal.wait() == 0
    assert user_messages(server) == ["sweep the hall", "another"]


def test_a_line_after_an_approval_is_a_message(manus: Program, server: ScriptedServer) -> None:
    server.script(call("bash", command="true"), text("Done."), text("Seen."))
    with manus.terminal("--approve", "ask") as terminal:
        ask(terminal, "do it", "y yes", "Ctrl-D later")
        terminal.type("y\ruse tabs\r")
        terminal.expect("Done.")
        terminal.expect_last("> ")
        ask(terminal, "go on", "Seen.")
    assert "use tabs" in " ".join(user_messages(server))


def test_commands_and_messages_typed_during_a_run_are_told_apart(
    manus: Program, server: ScriptedServer
) -> None:
    pause = Pause()
    server.script(pause.before(call("bash", command="true")), text("Done."))
    with manus.terminal() as terminal:
        terminal.expect_last("> ")
        terminal.type("do it\r")
        server.wait_for(1)
        terminal.expect("Enter sends a message")
        terminal.type("use tabs\r")
        terminal.expect("at the next step: use tabs")
        terminal.type("/withdraw\ruse spaces\r")
        terminal.expect("withdrawn: use tabs")
        terminal.expect("at the next step: use spaces")
        pause.end()
        terminal.expect("Done.")
        terminal.expect_last("> ")
    assert "use spaces" in user_messages(server)[-1]


async def test_a_message_sent_at_the_end_of_a_run_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    main, side = os.openpty()
    stored: list[str] = []
    began, may_store = asyncio.Event(), asyncio.Event()

    async def send(message: str, queue: bool) -> InboxMessage:
        began.set()
        await may_store.wait()
        stored.append(message)
        return new_message(message, queue=queue)

    async def withdraw(message_id: str) -> InboxMessage:
        raise UsageError(message_id)

    with os.fdopen(main, "r+b", 0) as keyboard, os.fdopen(side, "r+b", 0) as terminal:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(terminal))
        composer = Composer(Screen(quiet=True), send, withdraw)
        composer.start()
        keyboard.write(b"use tabs\r")
        await asyncio.wait_for(began.wait(), 60)
        composer.stop()
        settled = asyncio.create_task(composer.settle())
        await asyncio.sleep(0)
        assert not settled.done()
        may_store.set()
        await settled
    assert stored == ["use tabs"]
