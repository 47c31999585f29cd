"""Show the progress of a run on stderr, one line per event."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from typing import Any

from manus.cli.plan_view import PlanView, describe_action
from manus.cli.screen import CALL, DONE, FAILED, WARNING, Screen
from manus.pages.report.files import Edit, parse_edit
from manus.prompts import formatting
from manus.prompts.formatting import clean, count, first_line, flat, in_words, main_argument
from manus.runs.jobs import text_chunks
from manus.state.events import RetryEvent

_LABEL = 8
"""Columns of the label at the start of a line."""
_MAX_ERROR_LINES = 5
"""Last lines of output shown for a failed call."""
_MAX_DIFF_LINES = 12
"""Lines of diff shown for an edit."""
_LONG_TEXT = 200
"""Characters of streamed text above which its length is shown."""
_FINAL_TOOL = "terminate"
"""The tool whose arguments contain the answer, which is printed at the end."""
_ARGUMENTS_END = 1_000
"""Last characters of streamed arguments that may be shown."""
_KEYS = re.compile(r'"?[{,]\s*"\w+":\s*"?|(?:"\s*,|\{)\s*"?\w*"?:?\s*$|,\s*"\w*"?:?\s*$|"?\s*\}$')
"""What is not part of a value in the JSON of arguments, from which keys may still be missing."""
_EXIT = re.compile(r"\[(exit code \d+|killed by \w+)")


class Progress:
    """Shows the events of a run (`manus.state.events`) and counts usage."""

    def __init__(
        self, screen: Screen, *, live: bool = True, currency: str = "$", verbose: bool = False
    ) -> None:
        self._screen = screen
        self._verbose = verbose
        self._currency = currency
        self._live = live and screen.can_redraw
        self.stream_mode = ["custom", *["messages"] * self._live]
        """LangGraph stream modes: tokens only if they are shown live."""
        self._streamed = ("", "", "")
        """Text being streamed: id, tool name, text so far."""
        self._calls: dict[str, tuple[str, Any]] = {}
        """Main argument and all arguments, by call id of this step."""
        self._running: dict[str, tuple[str, float]] = {}
        """Name and start time, by id of a running call."""
        self._reply = ""
        """Last text of the model, printed before the next event unless it is the answer."""
        self.plan = PlanView(screen, currency)
        self.steps = 0
        """Steps of the run with a reply, including those before it was resumed."""
        self.has_begun = False
        """Whether the first node has started, so that the work is stored."""
        self.context_tokens = 0
        """Size of the newest request to the model."""
        self.usage: Counter[str] = Counter()
        """Usage counted from events, for a run whose state can no longer be read."""

    def wait(self) -> None:
        """Show that the model is being called, and for how long."""
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
        """Show that the database is unavailable; the stream has no event for it."""
        self._on_retry({**event})

    def end(self, answer: str = "") -> None:
        """End the live display; print the last text unless it is part of the answer."""
        self._screen.end_live()
        self._screen.release()
        if flat(self._reply) not in flat(answer):
            self._print_reply()
        self._reply = ""

    def _token(self, message: Any, metadata: dict[str, Any]) -> None:
        # A redrawn plan keeps its place; texts of its steps share one line below it.
        below = metadata.get("langgraph_node") == "plan" or self.plan.is_drawn
        for text_id, kind, name, text in text_chunks(message, metadata, "think", "plan"):
            self._append(
                text_id, f"  {kind:<{_LABEL}}" if below or kind != "says" else "", name, text
            )

    def _append(self, text_id: str, label: str, name: str, text: str) -> None:
        """Show one more chunk of a text, of reasoning or of call arguments."""
        if self._streamed[0] == text_id:
            name = self._streamed[1] + name
            text = self._streamed[2] + text
        self._streamed = (text_id, name, text)
        length = f" ({len(text):,} characters)" if len(text) > _LONG_TEXT else ""
        if name:
            text = _KEYS.sub(" ", text[-_ARGUMENTS_END:]).replace(r"\n", " ").replace(r"\"", '"')
        self._screen.live(f"{label}{name}{length}: " if name else label, text)

    def _on_step(self, event: dict[str, Any]) -> None:
        self._print_reply()
        self._calls.clear()
        spent = in_words(event.get("spent", {}), self._currency)
        so_far = f", {spent} so far" if spent else ""
        self._screen.line(f"Step {event['step']}/{event['max_steps']}{so_far}", "bold")
        self.wait()

    def _on_message(self, event: dict[str, Any]) -> None:
        self._screen.end_live()
        self._print("you", event["text"], "bold")
        self.wait()

    def _on_thought(self, event: dict[str, Any]) -> None:
        self.steps = event["step"]
        self.context_tokens = event["input_tokens"]
        self._count(event)
        self._screen.end_live()
        self._reply = event["text"]
        if any(call["name"] != _FINAL_TOOL for call in event["calls"]):
            self._print_reply()
        read = f"{event['input_tokens']:,} tokens in{formatting.cache_in_words(event)}"
        tokens = f"{read}, {event['output_tokens']:,} out"
        self._print("model", f"{event['seconds']:.1f} s, {tokens}", "dim")

    def _print_reply(self) -> None:
        text = clean(self._reply).strip()
        self._reply = ""
        if text and (self._live or self._verbose):
            self._screen.paragraph(text, "dim", indent=2)
        elif text:
            self._print("thought", flat(text))

    def _on_call(self, event: dict[str, Any]) -> None:
        args = event["args"]
        if event["name"] == _FINAL_TOOL and isinstance(args, dict):
            args = {"status": args["status"]} if "status" in args else {}
        argument = main_argument(args)
        self._calls[event["id"]] = argument, args
        description = f"{event['name']}: {argument}" if argument else event["name"]
        if event["id"] in self._running:  # resumed after its question was answered
            return
        self._print("call", description, CALL)
        if self._verbose and isinstance(args, dict):
            for name, value in args.items():
                text = value if isinstance(value, str) else json.dumps(value, default=str)
                self._screen.paragraph(f"{name}: {text.rstrip()}", CALL, indent=_LABEL + 2)
        self._running[event["id"]] = event["name"], time.monotonic()
        self._show_work(event["id"])

    def _on_output(self, event: dict[str, Any]) -> None:
        self._show_work(event["id"], event["text"])

    def _show_work(self, call: str, printed: str = "") -> None:
        """Show a running call, if it is still running."""
        if self._live and call in self._running:
            name, start = self._running[call]
            self._screen.busy(name, printed, since=start)

    def _on_observation(self, event: dict[str, Any]) -> None:
        self._count(event)
        # Only parallel calls need their argument to tell them apart.
        label, args = self._calls.get(event["id"], ("", None))
        which = f" {label[:24]}" if label and len(self._calls) > 1 else ""
        head = f"{event['name']}{which}, {event['seconds']:.1f} s"
        self._running.pop(event["id"], None)
        self._screen.end_live()
        if event["is_error"]:
            self._print_failure(head, event["text"])
        elif self._verbose:
            self._print("done", head, DONE)
            self._screen.paragraph(event["text"], indent=_LABEL + 2)
        else:
            self._print("done", f"{head}: {first_line(event['text'])}", DONE)
            self._show_edit(parse_edit(event["name"], args))
        for call_id in list(self._running)[-1:]:
            self._show_work(call_id)

    def _show_edit(self, edit: Edit | None) -> None:
        """Show the diff of an edit on a terminal; logs would grow with the files."""
        if edit is None or not self._screen.is_terminal:
            return
        for line in edit.diff[:_MAX_DIFF_LINES]:
            self._print("", line, {"+": DONE, "-": FAILED}.get(line[:1], "dim"))
        hidden = len(edit.diff) - _MAX_DIFF_LINES
        if hidden > 0:
            self._print("", f"… {count(hidden, 'more line')} (-v shows whole calls)", "dim")

    def _print_failure(self, head: str, text: str) -> None:
        """Print the exit code of a failed call and the last lines of its output."""
        lines = [line.rstrip() for line in clean(text).splitlines() if line.strip()]
        if lines and (exits := _EXIT.match(lines[-1].strip())):
            lines.pop()
            head = f"{head}, {exits[1]}"
        if len(lines) == 1:
            head = f"{head}: {lines.pop().strip()}"
        self._print("failed", head, FAILED)
        if not self._verbose:
            lines = lines[-_MAX_ERROR_LINES:]
        if lines:
            self._screen.paragraph("\n".join(lines), FAILED, indent=_LABEL + 2)

    def _on_retry(self, event: dict[str, Any]) -> None:
        self._screen.end_live()
        wait = f"attempt {event['attempt'] + 1} in {event['wait']:.1f} s"
        if remaining := event.get("left"):
            wait += f", giving up in {remaining:.0f} s"
        self._print("retry", f"{wait}: {event['reason']}", WARNING)

    def _on_loop(self, event: dict[str, Any]) -> None:
        measure = formatting.LOOP_MEASURES.get(event["measure"], event["measure"])
        self._print("loop", f"{measure}: {event['what']}", WARNING)

    def _on_compaction(self, event: dict[str, Any]) -> None:
        sizes = f"{event['before']:,} → {event['size']:,} tokens"
        self._print("context", f"Older turns were summarized: about {sizes}", WARNING)

    def _on_plan(self, event: dict[str, Any]) -> None:
        self._screen.end_live()
        self.plan.on_plan(event)

    def _on_plan_step(self, event: dict[str, Any]) -> None:
        self.plan.on_step(event)

    def _on_plan_action(self, event: dict[str, Any]) -> None:
        self._count(event["event"])
        if event["event"]["type"] == "message":
            self._on_message(event["event"])
        if event["event"]["type"] == "thought":
            self._screen.end_live()
        self.plan.on_action(event)

    def _on_delegate_action(self, event: dict[str, Any]) -> None:
        self._count(event["event"])
        if action := describe_action(event["event"]):
            self._screen.end_live()
            self._print("", f"{event['profile']}: {action}", "dim")
            self._show_work(event["id"])

    def _count(self, event: dict[str, Any]) -> None:
        """Count the usage of an event, including that of delegated agents."""
        while event["type"] == "delegate_action":
            event = event["event"]
        if event["type"] == "thought":
            self.usage["input_tokens"] += event["input_tokens"]
            self.usage["output_tokens"] += event["output_tokens"]
            self.usage["model_calls"] += 1
        self.usage["tool_calls"] += event["type"] == "observation"

    def _print(self, label: str, text: str, style: str = "") -> None:
        self._screen.line(f"  {label:<{_LABEL}}{text}", style)
