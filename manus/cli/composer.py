"""An input line at the bottom of the screen, for messages to a run in progress.

The terminal still translates Ctrl-C and Ctrl-Z into signals. Unsent text is passed on to the next
prompt.
"""

from __future__ import annotations

import asyncio
import sys
import termios
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.text import Text

from manus.cli.choices import as_keys
from manus.cli.prompt_session import is_command
from manus.cli.screen import CALL, WARNING, Screen
from manus.prompts.formatting import flat
from manus.state.errors import ManusError

if TYPE_CHECKING:
    from prompt_toolkit.key_binding import KeyPress

    from manus.threads.records.inbox import InboxMessage

_SIGN = "» "
_HINT = "Enter sends a message to the agent now, Tab after this run"
_ONLY = "While the agent works, use /queue TEXT or /withdraw [ID]; anything else is a message."
_MAX_PENDING = 3
"""Unread messages that are shown."""
_PASTE_ON = "\x1b[?2004h"
_PASTE_OFF = "\x1b[?2004l"

Send = Callable[[str, bool], Awaitable["InboxMessage"]]
"""Stores a text as a message, which is queued if the second argument is True."""
Withdraw = Callable[[str], Awaitable["InboxMessage"]]
"""Withdraws the message with an id, or with a prefix of one."""


class EditBuffer:
    """A text that is being edited, and the cursor in it."""

    def __init__(self) -> None:
        self.text = ""
        self.cursor = 0

    def insert(self, text: str) -> None:
        """Insert a text at the cursor."""
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)

    def delete(self, start: int, end: int) -> None:
        """Delete a part of the text, and put the cursor there."""
        start = max(start, 0)
        self.text = self.text[:start] + self.text[end:]
        self.cursor = start

    def take(self) -> str:
        """Return the text and start a new one."""
        text = self.text
        self.text = ""
        self.cursor = 0
        return text

    def edit(self, key: str) -> None:
        """Move the cursor or delete, as the key with this name does in a shell."""
        cursor = self.cursor
        match key:
            case "c-h":
                self.delete(cursor - 1, cursor)
            case "delete":
                self.delete(cursor, cursor + 1)
            case "c-u":
                self.delete(0, cursor)
            case "c-k":
                self.delete(cursor, len(self.text))
            case "c-w":
                before = self.text[:cursor].rstrip()
                self.delete(len(before) - len(before.split(" ")[-1]), cursor)
            case "left":
                self.cursor = max(cursor - 1, 0)
            case "right":
                self.cursor = min(cursor + 1, len(self.text))
            case "home" | "c-a":
                self.cursor = 0
            case "end" | "c-e":
                self.cursor = len(self.text)

    def render(self, width: int) -> Text:
        """Return the part of the text around the cursor that fits, with the cursor reversed."""
        text = self.text.replace("\n", "⏎").replace("\t", " ") + " "
        start = self.cursor
        room = width - cell_len(text[start])
        while start > 0 and cell_len(text[start - 1]) <= room:
            start -= 1
            room -= cell_len(text[start])
        end = self.cursor + 1
        while end < len(text) and cell_len(text[end]) <= room:
            room -= cell_len(text[end])
            end += 1
        row = Text(text[start : self.cursor], no_wrap=True, end="")
        row.append(text[self.cursor], "reverse")
        row.append(text[self.cursor + 1 : end])
        return row


class Composer:
    """Reads keys while a run works, and shows the line and the unread messages."""

    def __init__(
        self,
        screen: Screen,
        send: Send,
        withdraw: Withdraw,
        pending: Sequence[InboxMessage] = (),
    ) -> None:
        self._screen = screen
        self._send = send
        self._withdraw = withdraw
        self._line = EditBuffer()
        self._pending = list(pending)
        self._input: Any = None
        self._opened = ExitStack()
        self._tasks: set[asyncio.Task[None]] = set()

    @staticmethod
    def is_usable(screen: Screen) -> bool:
        """Return whether there is a terminal to type at and to draw on."""
        return screen.can_redraw and sys.stdin.isatty()

    def start(self) -> None:
        """Read keys and show the line until `stop`."""
        from prompt_toolkit.input import create_input
        from prompt_toolkit.input.typeahead import get_typeahead

        if self._input is not None:
            return
        self._input = create_input(sys.stdin)
        self._opened.callback(_set_modes(sys.stdin.fileno()))
        self._opened.enter_context(self._input.attach(self._read))
        self._screen.write_raw(_PASTE_ON)
        self._opened.callback(self._screen.write_raw, _PASTE_OFF)
        self._screen.attach_input(self._render)
        self._handle(get_typeahead(self._input))

    def stop(self) -> None:
        """Hide the line and restore the terminal; the next prompt gets the unsent text."""
        from prompt_toolkit.input.typeahead import store_typeahead

        if self._input is None:
            return
        self._screen.attach_input(None)
        self._opened.close()
        store_typeahead(self._input, as_keys(self._line.take()))
        self._input = None

    async def settle(self) -> None:
        """Wait until all texts that the user has submitted are stored."""
        await asyncio.gather(*self._tasks)

    def forget(self, message_id: str) -> None:
        """Stop showing a message as unread."""
        self._pending = [message for message in self._pending if message.id != message_id]
        self._screen.refresh()

    def _read(self) -> None:
        self._handle(self._input.read_keys())

    def _handle(self, keys: list[KeyPress]) -> None:
        from prompt_toolkit.keys import Keys

        for index, press in enumerate(keys):
            key = press.key.value if isinstance(press.key, Keys) else press.key
            is_escaped = index > 0 and keys[index - 1].key == Keys.Escape
            is_last = index == len(keys) - 1
            if key == Keys.BracketedPaste.value:
                self._line.insert(press.data.replace("\r\n", "\n").replace("\r", "\n"))
            elif key in ("c-m", "c-j"):
                # Alt-Enter, or a paste without marks
                if is_escaped or not (is_last or is_command(self._line.text)):
                    self._line.insert("\n")
                else:
                    self._submit(queue=False)
            elif key == "c-i":
                self._submit(queue=True)
            elif len(key) == 1 and key.isprintable():
                self._line.insert(key)
            else:
                self._line.edit(key)
        self._screen.refresh()

    def _submit(self, *, queue: bool) -> None:
        text = self._line.take().strip()
        if not text:
            return
        task = asyncio.create_task(self._execute(text, queue=queue))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _execute(self, text: str, *, queue: bool) -> None:
        """Send a text, or execute one of the two commands."""
        name, _, rest = text.partition(" ")
        try:
            if name == "/withdraw":
                newest = self._pending[-1].id if self._pending else ""
                message = await self._withdraw(rest.strip() or newest)
                self._screen.line(f"  withdrawn: {flat(message.text)}", "dim")
                self.forget(message.id)
            elif name == "/queue" and rest.strip():
                await self._send_message(rest.strip(), queue=True)
            elif is_command(text):
                self._screen.paragraph(_ONLY, WARNING, indent=2)
            else:
                await self._send_message(text, queue=queue)
        except ManusError as error:
            self._screen.paragraph(str(error), WARNING, indent=2)
        self._screen.refresh()

    async def _send_message(self, text: str, *, queue: bool) -> None:
        message = await self._send(text, queue)
        self._pending.append(message)  # the list may have been replaced during the await

    def _render(self) -> list[Text]:
        width = self._screen.console.width - 1
        rows = []
        hidden = len(self._pending) - _MAX_PENDING
        if hidden > 0:
            rows.append(Text(f"  … {hidden} more unread", "dim"))
        for message in self._pending[-_MAX_PENDING:]:
            effect = "after this run" if message.kind == "queue" else "at the next step"
            row = Text(f"  {effect}: {flat(message.text)}", "dim", no_wrap=True)
            row.truncate(width, overflow="ellipsis")
            rows.append(row)
        line = Text(_SIGN, CALL, no_wrap=True)
        if self._line.text:
            line.append_text(self._line.render(width - cell_len(_SIGN)))
        else:
            line.append(" ", "reverse")
            line.append(_HINT, "dim")
            line.truncate(width, overflow="ellipsis")
        return [*rows, line]


def _set_modes(descriptor: int) -> Callable[[], None]:
    """Turn off echo and line editing of a terminal; return a function that restores its modes."""
    before = termios.tcgetattr(descriptor)
    modes = termios.tcgetattr(descriptor)
    modes[0] &= ~termios.ICRNL
    modes[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    termios.tcsetattr(descriptor, termios.TCSANOW, modes)

    def restore() -> None:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)

    return restore
