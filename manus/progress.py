"""What a run does while it does it: one line for each thing, on stderr."""

from __future__ import annotations

from collections import Counter
from typing import Any

from manus.draft import Draft, draft_line
from manus.formatting import cache_in_words, in_words
from manus.plan_view import PlanView
from manus.screen import CALL, DONE, FAILED, WARNING, Screen
from manus.text import first_line, flat, main_argument

_LABEL = 8
"""Columns of the word that begins a line."""

_MEASURES = {
    "hint": "the model is told",
    "refuse": "that call is refused now",
    "ask": "a person is asked",
}


class Progress:
    """Shows the events of a run (`manus.state.events`), and keeps count of them."""

    def __init__(self, screen: Screen, *, live: bool = True, currency: str = "$") -> None:
        self._screen = screen
        self._currency = currency
        self._live = live and screen.is_terminal
        self._draft = Draft()
        self._labels: dict[str, str] = {}
        self._streamed = False
        self.plan = PlanView(screen, currency)
        self.steps = 0
        """Steps of the run so far, those before it was resumed included."""
        self.has_begun = False
        """Whether the run has got as far as its first node: what comes of it is kept."""
        self.usage: Counter[str] = Counter()
        """As far as the events tell; for a run whose state cannot be read any more."""

    @property
    def stream_mode(self) -> list[str]:
        """What to stream from the graph: tokens only where someone sees them come."""
        return ["custom", "messages"] if self._live else ["custom"]

    def show(self, mode: str, data: Any) -> None:
        """Show one part of the stream."""
        self.has_begun = True
        if mode == "messages":
            self._token(*data)
        elif isinstance(data, dict):
            handler = getattr(self, f"_on_{data.get('type')}", None)
            if handler is not None:
                handler(data)

    def _token(self, message: Any, metadata: dict[str, Any]) -> None:
        node = metadata.get("langgraph_node")
        if node not in ("think", "plan") or message.type != "AIMessageChunk":
            return
        # A plan is redrawn in its place: what its steps say goes on one line below it.
        below = node == "plan" or self.plan.is_drawn
        if not below and (text := str(message.text)):
            self._screen.piece(text, "dim")
            self._streamed = self._streamed or bool(text.strip())
        if shown := self._draft.feed(message, with_text=below):
            self._screen.live(draft_line(*shown, self._screen.width - 1, _LABEL))

    def _on_step(self, event: dict[str, Any]) -> None:
        self.steps = event["step"]
        self._labels.clear()
        self._streamed = False
        spent = in_words(event.get("spent", {}), self._currency)
        so_far = f", {spent} so far" if spent else ""
        self._screen.line(f"Step {event['step']}/{event['max_steps']}{so_far}", "bold")

    def _on_thought(self, event: dict[str, Any]) -> None:
        self._count(event)
        self._screen.end_text()
        if not self._streamed and (text := flat(event["text"])):
            self._tell("thought", text)
        given = f"{event['input_tokens']:,} tokens in{cache_in_words(event)}"
        tokens = f"{given}, {event['output_tokens']:,} out"
        self._tell("model", f"{event['seconds']:.1f} s, {tokens}", "dim")

    def _on_call(self, event: dict[str, Any]) -> None:
        self._labels[event["id"]] = argument = main_argument(event["args"])
        self._tell("call", f"{event['name']}: {argument}" if argument else event["name"], CALL)

    def _on_observation(self, event: dict[str, Any]) -> None:
        self._count(event)
        label = "failed" if event["is_error"] else "done"
        # Only where calls run side by side does it take more than the name to tell which it was.
        which = f" {self._labels[event['id']][:24]}" if self._is_one_of_many(event["id"]) else ""
        seconds = f"{event['seconds']:.1f} s"
        style = FAILED if event["is_error"] else DONE
        self._tell(label, f"{event['name']}{which}, {seconds}: {first_line(event['text'])}", style)

    def _is_one_of_many(self, call_id: str) -> bool:
        return len(self._labels) > 1 and bool(self._labels.get(call_id))

    def _on_retry(self, event: dict[str, Any]) -> None:
        self._screen.end_text()
        self._streamed = False
        wait = f"attempt {event['attempt'] + 1} in {event['wait']:.1f} s"
        self._tell("retry", f"{wait}: {event['reason']}", WARNING)

    def _on_loop(self, event: dict[str, Any]) -> None:
        measure = _MEASURES.get(event["measure"], event["measure"])
        self._tell("loop", f"{measure}: {event['what']}", WARNING)

    def _on_compaction(self, event: dict[str, Any]) -> None:
        sizes = f"{event['before']:,} → {event['size']:,} tokens"
        self._tell("context", f"Older turns were summed up: about {sizes}", WARNING)

    def _on_plan(self, event: dict[str, Any]) -> None:
        self.plan.on_plan(event)

    def _on_plan_step(self, event: dict[str, Any]) -> None:
        self.plan.on_step(event)

    def _on_plan_action(self, event: dict[str, Any]) -> None:
        self._count(event["event"])
        self.plan.on_action(event)

    def _count(self, event: dict[str, Any]) -> None:
        """Keep count of what a step of a plan uses."""
        if event["type"] == "thought":
            self.usage["input_tokens"] += event["input_tokens"]
            self.usage["output_tokens"] += event["output_tokens"]
            self.usage["model_calls"] += 1
        self.usage["tool_calls"] += event["type"] == "observation"

    def _tell(self, label: str, text: str, style: str = "") -> None:
        self._screen.line(f"  {label:<{_LABEL}}{text}", style)
