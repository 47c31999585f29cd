"""One exchange with the agent's model: the request fits, and there is a reply to go on with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langgraph.config import get_stream_writer

from manus.models.replies import Reply, no_answer
from manus.models.tokens import estimate_request
from manus.nodes.active_run import Running
from manus.nodes.context.compaction import Compacted, fit_history, offer_recall
from manus.nodes.context.context_window import context_window, next_size, too_large
from manus.nodes.turn.notes import Notes
from manus.nodes.turn.request import has_images, to_request
from manus.nodes.turn.stop_conditions import results_of
from manus.prompts import agent as prompts
from manus.prompts.render import render
from manus.state.agent import AgentState, Run
from manus.state.context import ToolChoice
from manus.state.errors import ContextOverflowError, ModelRefusedError, ModelReplyError
from manus.state.messages import ephemeral, has_calls, since

REQUIRED_TRIES = 3


class ModelTurn:
    """The exchange of one step.

    Attributes:
        history: The history as the model was asked with it.
        writes: The writes that make it so from what it was.
        update: What changes beside it: `compaction` and `earlier`.
    """

    def __init__(
        self, running: Running, history: Sequence[AnyMessage], run: Run, state: AgentState
    ) -> None:
        self.history = list(history)
        self.writes: list[Any] = []
        self.update: dict[str, Any] = {}
        self._running = running
        self._run = run
        place = state.get("place", "")
        self._system = render(
            running.profile.system_prompt, workspace=run["workspace"], place=place
        )
        self._role = running.profile.role
        self._compaction = state.get("compaction")
        self._earlier = state.get("earlier", []) if run["step"] > 1 else []

    async def ask(self, notes: Notes) -> Reply:
        """The model's reply. A request that is too large is made shorter and sent once more.

        Raises:
            ModelError: there is none to go on with.
        """
        running = self._running
        self._role = running.role_for(pictures=bool(notes.images) or _is_pictured(self.history))
        if self._compaction is not None:
            await offer_recall(running, self._compaction)
        request = await self._fitting(notes)
        try:
            return await self._ask(request, notes.choice)
        except ContextOverflowError as error:
            refused = error
        size = estimate_request(request, running.catalog.schemas())
        running.client.learn_window(self._role, refused, size)
        shorter = await self._fitting(notes, refused)
        try:
            if estimate_request(shorter) >= estimate_request(request):
                raise refused
            return await self._ask(shorter, notes.choice)
        except ContextOverflowError as error:
            window = context_window(running, self._role, self._system)
            raise too_large(error, window, shorter) from None

    async def _fitting(
        self, notes: Notes, refused: ContextOverflowError | None = None
    ) -> list[BaseMessage]:
        """The request, with a history as short as the window needs it.

        `refused`: by the server, whose window is smaller than was known.

        Raises:
            ContextOverflowError: it would not fit all the same.
        """
        running = self._running
        window = context_window(running, self._role, self._system)
        if window.is_too_small(window.fixed) or (refused and window.fixed >= window.size):
            raise too_large(refused, window, [])
        shown, made = await fit_history(
            running,
            self.history,
            self._compaction,
            self._run["request_id"],
            window,
            tight=refused is not None,
        )
        if made is not None:
            await self._compacted(made)
        vision = running.model_settings(self._role).vision
        request = to_request(shown, running.profile, self._system, notes, vision=vision)
        if refused is None and window.is_too_small(next_size(shown, self._compaction, window)):
            raise too_large(None, window, request)
        return request

    async def _compacted(self, made: Compacted) -> None:
        """Go on with the shorter history, and note what was taken out."""
        own, lines = {id(message) for message in self.own()}, self._lines()
        gone = [message for message in made.evicted if id(message) in own]
        if more := results_of(gone, len(lines) + 1):
            self.update["earlier"] = [*self.update.get("earlier", []), *more]
        self.history, self._compaction = made.history, made.compaction
        self.writes += made.writes
        self.update["compaction"] = made.compaction
        await offer_recall(self._running, made.compaction)

    def _lines(self) -> list[str]:
        """One line for each step of the run that is no longer in the history."""
        return [*self._earlier, *self.update.get("earlier", [])]

    def results(self) -> list[str]:
        """One line for each step of the run so far."""
        lines = self._lines()
        return [*lines, *results_of(self.own(), len(lines) + 1)]

    def own(self) -> list[AnyMessage]:
        """The messages of the run, as far as they are still in the history."""
        return list(since(self.history, self._run["request_id"]))

    async def _ask(self, request: Sequence[BaseMessage], choice: ToolChoice) -> Reply:
        """The reply; where a call is required, asked again at most twice."""
        for _ in range(REQUIRED_TRIES):
            reply = await self._answer(request, choice)
            if choice != "required" or has_calls(reply.message):
                return reply
            request = [*request, reply.message, ephemeral(prompts.TOOL_REQUIRED)]
        raise ModelRefusedError(
            f"The model answered without a tool call {REQUIRED_TRIES} times although tool choice "
            "is `required`; use `auto`, or a model that can call tools."
        )

    async def _answer(self, request: Sequence[BaseMessage], choice: ToolChoice) -> Reply:
        """The reply. One that was cut off, or repeats itself, is asked for once more, shorter.

        Raises:
            ModelReplyError: the second one is no answer either.
        """
        why = None
        for asked in (request, [*request, ephemeral(prompts.SHORTER)]):
            reply = await self._running.client.complete(
                self._role,
                asked,
                tools=None if choice == "none" else self._running.catalog.schemas(),
                tool_choice=choice,
                tell=get_stream_writer(),
            )
            if (why := no_answer(reply.message)) is None:
                return reply
        raise ModelReplyError(prompts.NO_ANSWER[str(why)])


def _is_pictured(history: Sequence[AnyMessage]) -> bool:
    """Whether there is a picture that no model has answered to."""
    new = takewhile(lambda message: not isinstance(message, AIMessage), reversed(history))
    return any(has_images(message) for message in new)
