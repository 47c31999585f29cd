"""A conversation at the terminal: requests on one thread, and commands between them."""

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

from manus.cli import startup
from manus.cli.commands.pages import has_desktop
from manus.cli.commands.run import begin, go_on
from manus.cli.folder_trust import ask_for_file_trust
from manus.cli.questions import LEAVE, request_session
from manus.cli.screen import DONE, WARNING, Screen
from manus.cli.settings import read_settings, with_store
from manus.execution.environment.report import report_tools
from manus.execution.sandbox.sandbox import wall_in_words
from manus.runs.attachments import Request, find_mentioned_files
from manus.runs.configuration import resolve_workspace
from manus.runs.options import RunOptions
from manus.state.errors import UsageError
from manus.store.thread_id import NEWEST

if TYPE_CHECKING:
    from manus.graph.outcome import Outcome
    from manus.pages.trace.model import TraceRun
    from manus.store.threads import Thread

_COMMANDS = {
    "new": "begin a new thread",
    "threads": "list threads",
    "resume": "[THREAD] go on with a thread: this one, or another",
    "model": "[NAME] use another model",
    "profile": "[NAME] use another kind of agent",
    "plan": "REQUEST: plan it, have you approve the plan, do it step by step",
    "report": "write the thread as a page",
    "show": "tell what was done",
    "cost": "what the thread has used",
    "undo": "take back what the last request changed with the editor",
    "help": "this list",
    "exit": "leave; so do /quit and Ctrl-D",
}
_BESIDES = {
    "@FILE": "attach a file; a picture by its path alone",
    "!COMMAND": "run a command in a shell of your own; the agent does not see it",
    "Alt-Enter": "break the line",
    "Ctrl-C": "stop the run, or drop what is typed; twice leaves, as Ctrl-D does",
}
_ON_THREAD = ("show", "report")
"""Commands of the program that take the thread."""
_ATTACHED = re.compile(r"\n\n<(?:file|earlier|undone)\b")
_EARLIER = "<earlier>"
_ENDED_BY = (128 + signal.SIGTERM, 128 + signal.SIGHUP)


class Conversation:
    """What is typed between two runs, and which thread and choices the next run has."""

    def __init__(self, args: RunOptions) -> None:
        self._args = args
        self._screen = Screen(quiet=args.quiet)
        self._thread = secrets.token_hex(5)
        self._happened: list[str] = []
        """What the agent does not know yet: told along with the next request."""
        self._before_plan = ""
        """The thread to come back to when a plan has been worked on."""
        self._workspace = ""

    def talk(self, meant: str | None = None) -> int:
        """Read requests and work on them until the person leaves; the exit code."""
        with self._screen.starting():
            startup.load()
        self._greet()
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if meant is not None:
            self._guarded(self._turn_to, meant)
        from manus.cli.completion import Typed

        session = request_session(Typed(_COMMANDS, self._workspace))
        was_pressed = False
        while True:
            try:
                said = session.prompt([("bold", "> ")]).strip()
                was_pressed = False
                if said.lower() in LEAVE:
                    break
                if said:
                    self._guarded(self._take, said)
            except EOFError:
                break
            except KeyboardInterrupt:
                if was_pressed:
                    break
                was_pressed = True
                self._screen.paragraph("Ctrl-C once more, or Ctrl-D, leaves.", "dim")
        if self._known() is not None:
            said = f"This was the thread {self._thread}; `manus -c` goes on."
            self._screen.paragraph(said, "dim")
        return 0

    def _greet(self) -> None:
        from manus.models.providers import DEFAULT_MODEL
        from manus.runs.configuration import check_model

        settings = read_settings()
        endpoint = settings.for_role("main").at(self._args.model, None)
        check_model(endpoint)
        place = Path(resolve_workspace(settings, self._args.workspace)).expanduser()
        self._workspace = os.path.realpath(place)
        self._screen.line(f"manus, with {endpoint.model or DEFAULT_MODEL}", "bold")
        ask_for_file_trust(self._args, settings)
        wall = wall_in_words(settings.sandbox, Path(self._workspace))
        self._screen.paragraph(f"Working in {self._workspace} ({wall})", "dim")
        if said := report_tools(Path(self._workspace), settings.sandbox).in_words():
            self._screen.paragraph(said, "dim")
        self._screen.paragraph("Say what is to be done; /help tells what else there is.", "dim")

    def _guarded(self, action: Callable[[str], object], said: str) -> None:
        """Do it; whatever goes wrong is told, and the conversation goes on."""
        from manus.cli.entry import fail

        try:
            action(said)
        except KeyboardInterrupt:
            self._screen.paragraph("Stopped.", "dim")
        except Exception as error:  # noqa: BLE001 - as at the end of the program
            fail([], error)

    def _take(self, said: str) -> None:
        name, _, rest = said[1:].partition(" ")
        if said.startswith("!"):
            shell = os.environ.get("SHELL") or "/bin/sh"
            there = self._workspace if Path(self._workspace).is_dir() else None
            subprocess.run([shell, "-c", said[1:]], cwd=there, check=False)
        elif said.startswith("/") and name.replace("-", "").isalpha():
            own = getattr(self, f"_on_{name}", None)
            if name not in _COMMANDS:
                raise UsageError(f"There is no /{name}; /help lists what there is.")
            own(rest.strip()) if own else self._call(name, *rest.split())
        else:
            self._request(said)

    def _request(self, said: str) -> None:
        """Work on what was typed; where the thread waits with a question, it is the answer."""
        known = self._known()
        if known is not None and self._outcome_of(known).asks_person:
            self._run(go_on, replace(self._args, answer=(said,)), self._thread)
            return
        self._come_back()
        known = self._known()
        self._begin(known.kind if known else "agent", said, self._args)

    def _begin(self, kind: str, said: str, args: RunOptions) -> None:
        files, images = find_mentioned_files(said, self._workspace)
        args = replace(args, thread=self._thread, files=files, images=images)
        # earlier answers may repeat what the agent has read
        is_tainted = any(text.startswith(_EARLIER) for text in self._happened)
        request = Request("\n\n".join([said, *self._happened]), said, is_tainted)
        self._run(begin, kind, args, request, read_settings())
        self._happened.clear()

    def _run(self, work: Callable[..., int], *given: Any) -> None:
        code = work(*given)
        if code in _ENDED_BY:  # the terminal has gone, or the machine is shut down
            sys.exit(code)
        if code == 0:
            self._come_back()

    def _come_back(self) -> None:
        """Leave the thread of a plan, and remember what came of it."""
        if self._before_plan:
            self._happened = [_told(run) for run in self._runs()[-1:]]
            self._thread = self._before_plan
            self._before_plan = ""

    def _call(self, name: str, *words: str) -> None:
        """A command of the program, on this thread if it takes one."""
        from manus.cli.commands import program

        if name in _ON_THREAD and not words:
            words = (self._thread, *["--open"] * (name == "report" and has_desktop()))
        program.main([name, *words], "manus", standalone_mode=False)

    def _known(self) -> Thread | None:
        """This thread, as it is stored; None before its first request."""
        from manus.store.threads import read_thread

        return with_store(lambda store: read_thread(store, self._thread))

    def _outcome_of(self, thread: Thread) -> Outcome:
        """How its newest run stands."""
        from manus.runs.jobs import read_outcome

        return with_store(lambda store: read_outcome(store, thread))

    def _runs(self) -> list[TraceRun]:
        """What was done on this thread."""
        from manus.pages.trace.reading import read_trace

        return with_store(lambda store: read_trace(store, self._thread))

    def _on_help(self, _: str) -> None:
        commands = {f"/{name}": text for name, text in _COMMANDS.items()}
        for name, text in (commands | _BESIDES).items():
            self._screen.line(f"  {name:<11} {text}")

    def _on_new(self, _: str) -> None:
        self._thread = secrets.token_hex(5)
        self._before_plan = ""
        self._happened.clear()
        self._screen.paragraph("What you say next begins a new thread.", "dim")

    def _on_model(self, name: str) -> None:
        from manus.models.providers import DEFAULT_MODEL
        from manus.runs.configuration import check_model

        endpoint = read_settings().for_role("main").at(name or self._args.model, None)
        check_model(endpoint)
        self._args.model = name or self._args.model
        self._screen.line(f"The model is {endpoint.model or DEFAULT_MODEL}.")

    def _on_profile(self, name: str) -> None:
        from manus.graph.profiles import profile_named

        if name:
            self._args.profile = profile_named(name).name
            self._screen.line(f"The profile is {self._args.profile}.")
        else:
            self._call("profiles")

    def _on_resume(self, meant: str) -> None:
        if meant:
            self._turn_to(meant)
        known = self._known()
        if known is None:
            self._turn_to(NEWEST)
        elif known.status != "finished":
            self._run(go_on, self._args, self._thread)
        elif not meant:
            self._screen.paragraph("There is nothing to go on with: the last request is done.")

    def _turn_to(self, meant: str) -> None:
        """Make another thread that of the conversation, and tell where it stands."""
        from manus.cli.output import hint_in_chat, print_outcome
        from manus.store.threads import get_thread

        known = with_store(lambda store: get_thread(store, meant))
        self._thread = known.thread_id
        self._before_plan = ""
        self._happened.clear()
        for run in self._runs()[-1:]:
            self._screen.paragraph(f"> {run.request}", "dim")
        outcome = self._outcome_of(known)
        print_outcome(outcome)
        if hint := hint_in_chat(outcome):
            self._screen.paragraph(hint)

    def _on_plan(self, request: str) -> None:
        """A flow on a thread of its own, which is told what was said; and the other way round."""
        if not request:
            raise UsageError("Say what is to be planned: /plan REQUEST.")
        self._come_back()
        self._happened[:0] = map(_told, self._runs())
        self._before_plan = self._thread
        self._thread = secrets.token_hex(5)
        self._begin("flow", request, replace(self._args, approve_plan=True))

    def _on_cost(self, _: str) -> None:
        from manus.prompts.formatting import count, in_words
        from manus.state.usage import sum_usage

        runs = self._runs()
        used = {**sum_usage(*(run.tokens for run in runs))}
        spent = in_words(used, read_settings().currency) or count(0, "token")
        self._screen.line(f"{count(len(runs), 'request')}, {spent}")

    def _on_undo(self, _: str) -> None:
        from manus.cli.undo import undo_last

        undone = undo_last(self._runs())
        if undone.edits:
            edits = "\n".join(undone.edits)
            self._screen.paragraph(edits, DONE, indent=2)
            self._happened.append(f"<undone>\nThe user took edits back.\n{edits}\n</undone>")
        else:
            self._screen.paragraph("The editor has changed nothing that could be undone.")
        for sentence in undone.left:
            self._screen.paragraph(sentence, WARNING, indent=2)


def _told(run: TraceRun) -> str:
    asked, *_ = _ATTACHED.split(run.request)
    return f"{_EARLIER}\nThe user asked: {asked}\nYou answered: {run.output}\n</earlier>"
