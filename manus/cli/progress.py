"""What a run does while it does it: one line for each thing, on stderr."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from typing import Any

from manus.cli.plan_view import PlanView, said_of
from manus.cli.screen import CALL, DONE, FAILED, WARNING, Screen
from manus.pages.report.edits import Edit, parse_edit
from manus.prompts import formatting
from manus.prompts.formatting import clean, count, first_line, flat, in_words, main_argument
from manus.runs.message_chunks import text_chunks
from manus.state.events import RetryEvent

_LABEL = 8
"""Columns of the word that begins a line."""
_SHOWN = 5
"""Lines that are shown of what a failed call printed."""
_SHOWN_OF_EDIT = 12
"""Lines that are shown of what an edit changed."""
_LONG = 200
"""Characters of a text that is being written from which on it is said how many there are."""
_END = "terminate"
"""The tool whose call carries the answer, which is printed when the run has ended."""
_EXIT = re.compile(r"\[(exit code \d+|killed by \w+)")


class Progress:
    """Shows the events of a run (`manus.state.events`), and keeps count of them."""

    def __init__(
        self, screen: Screen, *, live: bool = True, currency: str = "$", verbose: bool = False
    ) -> None:
        self._screen = screen
        self._verbose = verbose
        self._currency = currency
        self._live = live and screen.can_redraw
        self.stream_mode = ["custom", *["messages"] * self._live]
        """What to stream from the graph: tokens only where someone sees them come."""
        self._piece = ("", "", "")
        """What is being written: its message and part, its name, its text so far."""
        self._calls: dict[str, tuple[str, Any]] = {}
        """By call of this step: its main argument, and all of them."""
        self._at_work: dict[str, tuple[str, float]] = {}
        """By call: what it is, and since when."""
        self._held = ""
        """What the model said last: printed before what follows it, unless it is the answer."""
        self.plan = PlanView(screen, currency)
        self.steps = 0
        """Steps of the run so far, those before it was resumed included."""
        self.has_begun = False
        """Whether the run has got as far as its first node: what comes of it is kept."""
        self.usage: Counter[str] = Counter()
        """As far as the events tell; for a run whose state cannot be read any more."""

    def wait(self) -> None:
        """A run is about to begin, or the model to be asked: show that, and for how long."""
        if self._live and not self.plan.is_drawn:
            self._screen.busy("thinking")

    async def show(self, mode: str, data: Any) -> None:
        """Show one part of the stream."""
        self.has_begun = True
        if mode == "messages":
            self._token(*data)
        elif isinstance(data, dict):
            handler = getattr(self, f"_on_{data.get('type')}", None)
            if handler is not None:
                handler(data)

    def show_outage(self, event: RetryEvent) -> None:
        """Show that the database is away: no node is told, so no stream has it."""
        self._on_retry({**event})

    def end(self, answer: str = "") -> None:
        """The run stands still; what was said last is not shown if it is the answer."""
        self._screen.end_live()
        self._screen.release()
        if flat(self._held) not in flat(answer):
            self._say_held()
        self._held = ""

    def _token(self, message: Any, metadata: dict[str, Any]) -> None:
        # A plan is redrawn in its place: what its steps say goes on one line below it.
        below = metadata.get("langgraph_node") == "plan" or self.plan.is_drawn
        for of, kind, name, text in text_chunks(message, metadata, "think", "plan"):
            self._grow(of, f"  {kind:<{_LABEL}}" if below or kind != "says" else "", name, text)

    def _grow(self, of: str, label: str, name: str, text: str) -> None:
        """A piece more of a text, of a model's thoughts or of a call's arguments."""
        if self._piece[0] == of:
            name = self._piece[1] + name
            text = self._piece[2] + text
        self._piece = of, name, text
        length = f" ({len(text):,} characters)" if len(text) > _LONG else ""
        self._screen.live(f"{label}{name}{length}: " if name else label, text)

    def _on_step(self, event: dict[str, Any]) -> None:
        self._say_held()
        self.steps = event["step"]
        self._calls.clear()
        spent = in_words(event.get("spent", {}), self._currency)
        so_far = f", {spent} so far" if spent else ""
        self._screen.line(f"Step {event['step']}/{event['max_steps']}{so_far}", "bold")
        self.wait()

    def _on_thought(self, event: dict[str, Any]) -> None:
        self._count(event)
        self._screen.end_live()
        self._held = event["text"]
        if any(call["name"] != _END for call in event["calls"]):
            self._say_held()
        given = f"{event['input_tokens']:,} tokens in{formatting.cache_in_words(event)}"
        tokens = f"{given}, {event['output_tokens']:,} out"
        self._tell("model", f"{event['seconds']:.1f} s, {tokens}", "dim")

    def _say_held(self) -> None:
        said = clean(self._held).strip()
        self._held = ""
        if said and (self._live or self._verbose):
            self._screen.paragraph(said, "dim", indent=2)
        elif said:
            self._tell("thought", flat(said))

    def _on_call(self, event: dict[str, Any]) -> None:
        args = event["args"]
        if event["name"] == _END and isinstance(args, dict):
            args = {name: value for name, value in args.items() if name == "status"}
        argument = main_argument(args)
        self._calls[event["id"]] = argument, args
        said = f"{event['name']}: {argument}" if argument else event["name"]
        if event["id"] in self._at_work:  # it asked a person, and now has the answer
            return
        self._tell("call", said, CALL)
        if self._verbose and isinstance(args, dict):
            for name, value in args.items():
                text = value if isinstance(value, str) else json.dumps(value, default=str)
                self._screen.paragraph(f"{name}: {text.rstrip()}", CALL, indent=_LABEL + 2)
        self._at_work[event["id"]] = event["name"], time.monotonic()
        self._show_work(event["id"])

    def _on_output(self, event: dict[str, Any]) -> None:
        self._show_work(event["id"], event["text"])

    def _show_work(self, call: str, printed: str = "") -> None:
        """A call that is at work, or what is still there when it has ended."""
        if self._live and call in self._at_work:
            said, since = self._at_work[call]
            self._screen.busy(said, printed, since=since)

    def _on_observation(self, event: dict[str, Any]) -> None:
        self._count(event)
        # Only where calls run side by side does it take more than the name to tell which it was.
        label, args = self._calls.get(event["id"], ("", None))
        which = f" {label[:24]}" if label and len(self._calls) > 1 else ""
        head = f"{event['name']}{which}, {event['seconds']:.1f} s"
        self._at_work.pop(event["id"], None)
        self._screen.end_live()
        if event["is_error"]:
            self._tell_failed(head, event["text"])
        elif self._verbose:
            self._tell("done", head, DONE)
            self._screen.paragraph(event["text"], indent=_LABEL + 2)
        else:
            self._tell("done", f"{head}: {first_line(event['text'])}", DONE)
            self._show_edit(parse_edit(event["name"], args))
        for left in list(self._at_work)[-1:]:
            self._show_work(left)

    def _show_edit(self, edit: Edit | None) -> None:
        """What an edit changed, to a person at a terminal; a log would grow with the files."""
        if edit is None or not self._screen.is_terminal:
            return
        for line in edit.diff[:_SHOWN_OF_EDIT]:
            self._tell("", line, {"+": DONE, "-": FAILED}.get(line[:1], "dim"))
        if (more := len(edit.diff) - _SHOWN_OF_EDIT) > 0:
            self._tell("", f"… {count(more, 'more line')} (-v shows all of a call)", "dim")

    def _tell_failed(self, head: str, text: str) -> None:
        """How a call failed: the exit code, and the last lines of what was printed."""
        lines = [line.rstrip() for line in clean(text).splitlines() if line.strip()]
        if lines and (exits := _EXIT.match(lines[-1].strip())):
            lines.pop()
            head = f"{head}, {exits[1]}"
        if len(lines) == 1:
            head = f"{head}: {lines.pop().strip()}"
        self._tell("failed", head, FAILED)
        shown = lines if self._verbose else lines[-_SHOWN:]
        if shown:
            self._screen.paragraph("\n".join(shown), FAILED, indent=_LABEL + 2)

    def _on_retry(self, event: dict[str, Any]) -> None:
        self._screen.end_live()
        wait = f"attempt {event['attempt'] + 1} in {event['wait']:.1f} s"
        if left := event.get("left"):
            wait += f", tried for {left:.0f} s more"
        self._tell("retry", f"{wait}: {event['reason']}", WARNING)

    def _on_loop(self, event: dict[str, Any]) -> None:
        measure = formatting.LOOP_MEASURES.get(event["measure"], event["measure"])
        self._tell("loop", f"{measure}: {event['what']}", WARNING)

    def _on_compaction(self, event: dict[str, Any]) -> None:
        sizes = f"{event['before']:,} → {event['size']:,} tokens"
        self._tell("context", f"Older turns were summed up: about {sizes}", WARNING)

    def _on_plan(self, event: dict[str, Any]) -> None:
        self._screen.end_live()
        self.plan.on_plan(event)

    def _on_plan_step(self, event: dict[str, Any]) -> None:
        self.plan.on_step(event)

    def _on_plan_action(self, event: dict[str, Any]) -> None:
        self._count(event["event"])
        if event["event"]["type"] == "thought":
            self._screen.end_live()
        self.plan.on_action(event)

    def _on_delegate_action(self, event: dict[str, Any]) -> None:
        self._count(event["event"])
        if said := said_of(event["event"]):
            self._screen.end_live()
            self._tell("", f"{event['profile']}: {said}", "dim")
            self._show_work(event["id"])

    def _count(self, event: dict[str, Any]) -> None:
        """Keep count of what is used, by whoever is at work inside the run too."""
        while event["type"] == "delegate_action":
            event = event["event"]
        if event["type"] == "thought":
            self.usage["input_tokens"] += event["input_tokens"]
            self.usage["output_tokens"] += event["output_tokens"]
            self.usage["model_calls"] += 1
        self.usage["tool_calls"] += event["type"] == "observation"

    def _tell(self, label: str, text: str, style: str = "") -> None:
        self._screen.line(f"  {label:<{_LABEL}}{text}", style)
