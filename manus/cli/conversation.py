"""A conversation at the terminal: requests on one thread, and slash commands."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from manus.cli import startup
from manus.cli.desktop import has_desktop
from manus.cli.failure import fail
from manus.cli.folder_trust import ask_for_file_trust
from manus.cli.local_server import use_local_server
from manus.cli.prompt_session import FoldedPastes, request_session
from manus.cli.questions import LEAVE
from manus.cli.screen import Screen
from manus.cli.settings import read_settings, with_store
from manus.cli.start_run import resume_thread, start_run
from manus.runs.configuration import resolve_workspace
from manus.runs.options import RunOptions
from manus.sandbox.availability import describe_sandbox
from manus.sandbox.environment.report import report_tools
from manus.state.endings import ENDINGS
from manus.state.errors import UsageError
from manus.state.request import Request
from manus.threads.thread_id import NEWEST

if TYPE_CHECKING:
    from manus.graph.outcome import Outcome
    from manus.pages.trace.model import TraceRun
    from manus.runs.own_commands import OwnCommand
    from manus.threads.base import Store
    from manus.threads.records.inbox import InboxMessage
    from manus.threads.thread_list import Thread

_COMMANDS = {
    "new": "start a new thread",
    "threads": "pick the thread to go on with (with an option: as `manus threads`)",
    "rename": "TITLE: give the thread another title",
    "resume": "[THREAD] resume this thread, or switch to another",
    "model": "[NAME] pick or name the model",
    "profile": "[NAME] pick or name the agent profile",
    "plan": "REQUEST: write a plan, wait for your approval, then execute it",
    "queue": "REQUEST: start it after the current run (or press Tab)",
    "withdraw": "[ID] withdraw the newest message that the agent has not read",
    "report": "[FILE] write the thread as an HTML page",
    "show": "show the history of the thread",
    "compact": "replace the older turns by notes, before your next request",
    "cost": "show the tokens and cost of the thread",
    "undo": "take back the last request: messages, plan and files",
    "history": "list the steps of the thread and the files that each has changed",
    "rewind": "STEP: return to the end of a step: messages, plan and files",
    "help": "show this list",
    "exit": "leave (also /quit, Ctrl-D)",
}
_OTHER_INPUT = {
    "@FILE": "attach a text file; for an image the path alone is enough",
    "!COMMAND": "run a command in your own shell; the agent does not see it",
    "Enter": "while the agent works: send it a message, read at its next step",
    "Alt-Enter": "start a new line",
    "Ctrl-C": "stop the run, or clear the line; press twice to leave",
}
_ON_THREAD = ("show", "report", "history")
"""Commands of `manus` that get the current thread as argument."""
_EMPTY = "This conversation is empty so far."
_ATTACHED = re.compile(r"\n\n<(?:file|earlier|undone)\b")
_EARLIER = "<earlier>"
_STOP_EXIT_CODES = (128 + signal.SIGTERM, 128 + signal.SIGHUP)


class Conversation:
    """Reads requests and commands; keeps the thread and options of the next run."""

    def __init__(self, args: RunOptions) -> None:
        self._args = args
        self._screen = Screen(quiet=args.quiet)
        self._thread = secrets.token_hex(5)
        self._notes: list[str] = []
        """Events outside the thread, sent along with the next request."""
        self._main_thread = ""
        """The thread to return to after a plan; empty outside a plan."""
        self._workspace = ""

    def talk(self, thread: str | None = None) -> int:
        """Read requests and work on them until the user leaves; return the exit code."""
        with self._screen.starting():
            startup.load()
        self._greet()
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if thread is not None:
            self._run_safely(self._continue, thread)
        from manus.cli.completion import ChatCompleter

        pastes = FoldedPastes()
        own = {name: command.description for name, command in self._own_commands().items()}
        session = request_session(ChatCompleter(own | _COMMANDS, self._workspace), pastes)
        was_pressed = False
        while True:
            try:
                line = session.prompt([("bold", "> ")]).strip()
                if (whole := pastes.unfold(line)) != line:
                    session.history.append_string(whole)
                    line = whole
                was_pressed = False
                if line.lower() in LEAVE:
                    break
                if line:
                    self._run_safely(self._handle_line, line)
            except EOFError:
                break
            except KeyboardInterrupt:
                if was_pressed:
                    break
                was_pressed = True
                self._screen.paragraph("Press Ctrl-C again or Ctrl-D to leave.", "dim")
        if self._stored_thread() is not None:
            hint = f"This was the thread {self._thread}; `manus -c` continues it."
            self._screen.paragraph(hint, "dim")
        return 0

    def _greet(self) -> None:
        from manus.config.provider_table import DEFAULT_MODEL
        from manus.runs.configuration import check_model, select_main_endpoint

        settings = use_local_server(self._args, read_settings())
        endpoint = select_main_endpoint(settings, self._args.model)
        check_model(endpoint)
        place = Path(resolve_workspace(settings, self._args.workspace)).expanduser()
        self._workspace = os.path.realpath(place)
        self._screen.line(f"manus, with {endpoint.model or DEFAULT_MODEL}", "bold")
        ask_for_file_trust(self._args, settings)
        sandbox = describe_sandbox(settings.sandbox, Path(self._workspace))
        self._screen.paragraph(f"Working in {self._workspace} ({sandbox})", "dim")
        if hidden_tools := report_tools(Path(self._workspace), settings.sandbox).describe():
            self._screen.paragraph(hidden_tools, "dim")
        self._screen.paragraph("Type a request, or /help for a list of commands.", "dim")

    def _run_safely(self, action: Callable[[str], object], argument: str) -> None:
        """Call an action; report any error and keep the conversation going."""
        try:
            action(argument)
        except KeyboardInterrupt:
            self._screen.paragraph("Stopped.", "dim")
        except Exception as error:  # noqa: BLE001 - as at the end of the program
            fail([], error)

    def _handle_line(self, line: str) -> None:
        name, _, rest = line[1:].partition(" ")
        if line.startswith("!"):
            shell = os.environ.get("SHELL") or "/bin/sh"
            folder = self._workspace if Path(self._workspace).is_dir() else None
            subprocess.run([shell, "-c", line[1:]], cwd=folder, check=False)
        elif line.startswith("/") and name.replace("-", "").isalpha():
            if name not in _COMMANDS and (own := self._own_commands().get(name)) is not None:
                self._request(own.expand(rest.strip()), typed=line)
                return
            if name not in _COMMANDS:
                raise UsageError(f"Unknown command /{name}; /help lists all commands.")
            handler = getattr(self, f"_on_{name}", None)
            if handler is not None:
                handler(rest.strip())
            else:
                self._call_command(name, *rest.split())
        else:
            self._request(line)

    def _own_commands(self) -> dict[str, OwnCommand]:
        from manus.runs.own_commands import find_own_commands

        return find_own_commands(Path(self._workspace))

    def _request(self, text: str, typed: str = "") -> None:
        """Work on a request, or answer the question that the thread is waiting on.

        `typed` is what the user has typed, if a command has given the text.
        """
        stored = self._stored_thread()
        if stored is not None and self._read_outcome(stored).asks_person:
            self._run(resume_thread, replace(self._args, answer=(text,)), self._thread)
            return
        self._leave_plan()
        stored = self._stored_thread()
        self._start(stored.kind if stored else "agent", text, self._args, typed)

    def _start(self, kind: str, text: str, args: RunOptions, typed: str = "") -> None:
        from manus.graph.attachments import find_mentioned_files

        files, images = find_mentioned_files(text, self._workspace)
        args = replace(args, thread=self._thread, files=files, images=images)
        # earlier answers may repeat what the agent has read
        is_tainted = any(note.startswith(_EARLIER) for note in self._notes)
        request = Request("\n\n".join([text, *self._notes]), typed or text, is_tainted)
        self._run(start_run, kind, args, request, read_settings())
        self._notes.clear()
        self._args.compact = False

    def _run(self, work: Callable[..., int], *arguments: Any) -> None:
        code = work(*arguments)
        if code in _STOP_EXIT_CODES:  # the terminal closed, or the machine is shutting down
            sys.exit(code)
        if code == 0:
            self._leave_plan()

    def _leave_plan(self) -> None:
        """Return from the thread of a plan, keeping its result for the next request."""
        if self._main_thread:
            self._notes = [_earlier_note(run) for run in self._runs()[-1:]]
            self._thread = self._main_thread
            self._main_thread = ""

    def _call_command(self, name: str, *words: str) -> None:
        """Run a command of `manus`, on this thread if it takes one."""
        if name == "report" or (name in _ON_THREAD and not words):
            if self._stored_thread() is None:
                self._screen.paragraph(_EMPTY)
                return
            words = (self._thread, *words, *["--open"] * (name == "report" and has_desktop()))
        root = click.get_current_context().find_root().command
        root.main([name, *words], "manus", standalone_mode=False)

    def _stored_thread(self) -> Thread | None:
        """Return this thread; None before its first request."""
        from manus.threads.thread_list import read_thread

        return with_store(lambda store: read_thread(store, self._thread))

    def _read_outcome(self, thread: Thread) -> Outcome:
        """Return the outcome of its newest run."""
        from manus.runs.jobs import read_outcome

        return with_store(lambda store: read_outcome(store, thread))

    def _runs(self) -> list[TraceRun]:
        """Return the runs of this thread."""
        from manus.pages.trace.reading import read_trace

        return with_store(lambda store: read_trace(store, self._thread))

    def _on_help(self, _: str) -> None:
        own = {name: command.description for name, command in self._own_commands().items()}
        commands = {f"/{name}": text for name, text in (own | _COMMANDS).items()}
        for name, text in (commands | _OTHER_INPUT).items():
            self._screen.line(f"  {name:<11} {text}")

    def _on_new(self, _: str) -> None:
        self._thread = secrets.token_hex(5)
        self._main_thread = ""
        self._notes.clear()
        self._screen.paragraph("Your next request starts a new thread.", "dim")

    def _on_model(self, name: str) -> None:
        from manus.cli.pickers import check_listed, pick_model
        from manus.config.provider_table import DEFAULT_MODEL
        from manus.runs.configuration import check_model, select_main_endpoint

        if name:
            check_listed(name)
        selected = name or pick_model(self._args.model) or self._args.model
        endpoint = select_main_endpoint(read_settings(), selected)
        check_model(endpoint)
        self._args.model = selected
        self._screen.line(f"The model is {endpoint.model or DEFAULT_MODEL}.")

    def _on_profile(self, name: str) -> None:
        from manus.cli.pickers import pick_profile
        from manus.graph.profiles import find_profile

        if name := name or pick_profile(self._args.profile) or "":
            self._args.profile = find_profile(name).name
            self._screen.line(f"The profile is {self._args.profile}.")

    def _on_threads(self, options: str) -> None:
        from manus.cli.pickers import pick_thread

        if options:
            self._call_command("threads", *options.split())
        elif thread := pick_thread(self._thread):
            self._switch_to(thread)

    def _on_rename(self, title: str) -> None:
        from manus.threads.thread_list import rename_thread

        if self._stored_thread() is None:
            self._screen.paragraph(_EMPTY, "dim")
        else:
            with_store(lambda store: rename_thread(store, self._thread, title))

    def _on_resume(self, thread: str) -> None:
        if thread:
            self._switch_to(thread)
        stored = self._stored_thread()
        if stored is None:
            self._switch_to(NEWEST)
        elif stored.status != ENDINGS["terminated"].label:
            self._run(resume_thread, self._args, self._thread)
        elif not thread:
            self._screen.paragraph("Nothing to resume: the last request is finished.")

    def _continue(self, thread: str) -> None:
        """Continue a thread; ask which one if the newest thread is of another folder."""
        from manus.cli.pickers import pick_newest

        selected = pick_newest(self._workspace) if thread == NEWEST else thread
        if selected is not None:
            self._switch_to(selected)

    def _switch_to(self, thread: str) -> None:
        """Make another thread the current one, and show its state."""
        from manus.cli.output import hint_in_chat, print_outcome
        from manus.threads.thread_list import get_thread

        stored = with_store(lambda store: get_thread(store, thread))
        self._thread = stored.thread_id
        self._main_thread = ""
        self._notes.clear()
        for run in self._runs()[-1:]:
            self._screen.paragraph(f"> {run.request}", "dim")
        outcome = self._read_outcome(stored)
        print_outcome(outcome)
        if hint := hint_in_chat(outcome):
            self._screen.paragraph(hint)

    def _on_plan(self, request: str) -> None:
        """Run a flow on a separate thread; each thread learns what happened on the other."""
        if not request:
            raise UsageError("The request is missing: /plan REQUEST.")
        self._leave_plan()
        self._notes[:0] = map(_earlier_note, self._runs())
        self._main_thread = self._thread
        self._thread = secrets.token_hex(5)
        self._start("flow", request, replace(self._args, approve_plan=True))

    def _on_queue(self, request: str) -> None:
        if not request:
            raise UsageError("The request is missing: /queue REQUEST.")
        self._request(request)  # no run is active

    def _on_withdraw(self, message_id: str) -> None:
        from manus.runs.messages import read_unread, withdraw

        async def take_back(store: Store) -> InboxMessage | None:
            unread = await read_unread(store, self._thread)
            if not (unread or message_id):
                return None
            return await withdraw(store, self._thread, message_id or unread[-1].id)

        message = with_store(take_back)
        text = "There are no unread messages." if message is None else f"Withdrawn: {message.text}"
        self._screen.paragraph(text, "dim")

    def _on_compact(self, _: str) -> None:
        self._args.compact = self._stored_thread() is not None
        text = "The notes are written before your next request."
        self._screen.paragraph(text if self._args.compact else _EMPTY, "dim")

    def _on_cost(self, _: str) -> None:
        from manus.prompts.formatting import count, in_words
        from manus.state.usage import sum_usage

        runs = self._runs()
        used = {**sum_usage(*(run.tokens for run in runs))}
        spent = in_words(used, read_settings().currency) or count(0, "token")
        self._screen.line(f"{count(len(runs), 'request')}, {spent}")

    def _on_rewind(self, step: str) -> None:
        options = ["--undo"] if step == "undo" else ["--to", step]
        self._call_command("rewind", self._thread, *options)

    def _on_undo(self, _: str) -> None:
        from manus.threads.history import read_history
        from manus.threads.steps import HistoryStep, list_steps

        async def read_steps(store: Store) -> list[HistoryStep]:
            return list_steps(await read_history(store, self._thread))

        steps = with_store(read_steps)
        earlier = [step for step in steps if step.run != steps[-1].run]
        if not earlier:
            self._screen.paragraph("Nothing to undo: this conversation has no request.")
            return
        self._on_rewind(str(earlier[-1].number))


def _earlier_note(run: TraceRun) -> str:
    request, *_ = _ATTACHED.split(run.request)
    return f"{_EARLIER}\nThe user asked: {request}\nYou answered: {run.output}\n</earlier>"
