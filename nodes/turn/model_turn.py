"""One exchange with the agent's model: the request has room, and there is a reply to go on with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage

from manus.models.recording import ephemeral
from manus.models.replies import no_answer
from manus.models.reply import Reply
from manus.models.tokens import estimate_request
from manus.nodes.active_run import Running
from manus.nodes.context.compact import Compacted
from manus.nodes.context.context_size import most, next_size
from manus.nodes.context.large import fitted
from manus.nodes.context.overflow import check_frame, overflows, too_large
from manus.nodes.context.room import inherit_archive, make_room, offer_recall
from manus.nodes.context.space import Space, space_of
from manus.nodes.turn.request import has_images, to_request
from manus.nodes.turn.results import results_of
from manus.prompts import agent as prompts
from manus.state.agent import AgentState, Run
from manus.state.context import ToolChoice
from manus.state.errors import ContextOverflowError, ModelRefusedError, ModelReplyError
from manus.state.messages import has_calls, since
from manus.tools.result import Image

REQUIRED_TRIES = 3


class Talk:
    """The exchange of one step.

    Attributes:
        history: The history as the model was asked with it.
        writes: The writes that make it so from what it was.
        update: What changes beside it: `compaction` and `earlier`.
    """

    def __init__(
        self,
        running: Running,
        history: Sequence[AnyMessage],
        run: Run,
        tell: Any,
        state: AgentState,
    ) -> None:
        self.history = list(history)
        self.writes: list[Any] = []
        self.update: dict[str, Any] = {}
        self._running = running
        self._run = run
        self._tell = tell
        self._images: Sequence[Image] = ()
        self._role = running.profile.role
        self._known: Space | None = None
        self._compaction = state.get("compaction")
        self._earlier = state.get("earlier", []) if run["step"] > 1 else []
        if self._compaction is not None:
            offer_recall(running, self._compaction)

    async def ask(
        self, notes: Sequence[str], choice: ToolChoice, images: Sequence[Image] = ()
    ) -> Reply:
        """The model's reply. A request that is too large is made shorter and sent once more.

        `notes` and `images` are what is true only now.

        Raises:
            ModelError: there is none to go on with.
        """
        self._images = images
        self._role = self._running.role_for(pictures=bool(images) or _is_pictured(self.history))
        await inherit_archive(self._running, self._compaction)
        request = await self._fitting(notes)
        try:
            return await self._ask(request, choice)
        except ContextOverflowError as error:
            refused = error
        size = estimate_request(request, self._running.catalog.schemas())
        self._running.client.learn_window(self._role, refused, size)
        self._known = None
        shorter = await self._shorter(refused, request, notes)
        try:
            return await self._ask(shorter, choice)
        except ContextOverflowError as error:
            raise too_large(error, self._space(), shorter) from None

    async def _fitting(self, notes: Sequence[str]) -> list[BaseMessage]:
        """The request, with a history that was made as short as a known window needs it.

        Raises:
            ContextOverflowError: it would not fit all the same.
        """
        check_frame(self._space())
        await self._make_room()
        request = await self._request(notes)
        if self._overflows(request) and await self._make_room(tight=True):
            request = await self._request(notes)
        if self._overflows(request):
            raise too_large(None, self._space(), request)
        return request

    def _overflows(self, request: Sequence[BaseMessage]) -> bool:
        space = self._space()
        history = next_size(self.history, self._compaction, most, space.fixed)
        return overflows(space, request, history + most(request[-1]))

    async def _shorter(
        self, refused: ContextOverflowError, request: Sequence[BaseMessage], notes: Sequence[str]
    ) -> list[BaseMessage]:
        """The request for a window that has turned out to be smaller.

        Raises:
            ContextOverflowError: it cannot be made shorter.
        """
        if self._space().fixed >= self._space().window:
            raise too_large(refused, self._space(), request)
        made = await self._make_room(tight=True)
        shorter = await self._request(notes)
        if not made and estimate_request(shorter) >= estimate_request(request):
            raise too_large(refused, self._space(), shorter)
        return shorter

    def results(self) -> list[str]:
        """One line for each step of the run so far."""
        lines = [*self._earlier, *self.update.get("earlier", [])]
        return [*lines, *results_of(self.own(), len(lines) + 1)]

    def own(self) -> list[AnyMessage]:
        """The messages of the run, as far as they are still in the history."""
        return list(since(self.history, self._run["request_id"]))

    async def _make_room(self, *, tight: bool = False) -> bool:
        done = len(self._earlier) + len(self.update.get("earlier", []))
        made = await make_room(
            self._running,
            self.history,
            self._compaction,
            self._run,
            self._tell,
            space=self._space(),
            done=done,
            tight=tight,
        )
        if made is not None:
            self._take(made)
        return made is not None

    def _take(self, made: Compacted) -> None:
        self.history = made.history
        self.writes += made.writes
        self._compaction = made.compaction
        self._known = None
        self.update["compaction"] = made.compaction
        if made.lines:
            self.update["earlier"] = [*self.update.get("earlier", []), *made.lines]

    def _space(self) -> Space:
        """The space of a request, looked at anew when something has changed it."""
        if self._known is None:
            workspace, rules = self._run["workspace"], self._instructions()
            self._known = space_of(self._running, self._role, workspace, rules)
        return self._known

    def _instructions(self) -> list[str]:
        return self._compaction["instructions"] if self._compaction else []

    async def _request(self, notes: Sequence[str]) -> list[BaseMessage]:
        running = self._running
        return to_request(
            await fitted(running, self.history, self._space().room),
            running.profile,
            self._run["workspace"],
            notes,
            vision=running.model_settings(self._role).vision,
            instructions=self._instructions(),
            images=[image.as_block() for image in self._images],
        )

    async def _ask(self, request: Sequence[BaseMessage], choice: ToolChoice) -> Reply:
        """The reply; where a call is required, asked again at most twice."""
        running = self._running
        tools = None if choice == "none" else running.catalog.schemas()
        for _ in range(REQUIRED_TRIES):
            reply = await self._answer(request, tools, choice)
            if choice != "required" or has_calls(reply.message):
                return reply
            request = [*request, reply.message, ephemeral(prompts.TOOL_REQUIRED)]
        raise ModelRefusedError(
            f"The model answered without a tool call {REQUIRED_TRIES} times although tool choice "
            "is `required`; use `auto`, or a model that can call tools."
        )

    async def _answer(
        self,
        request: Sequence[BaseMessage],
        tools: list[dict[str, Any]] | None,
        choice: ToolChoice,
    ) -> Reply:
        """The reply. One that was cut off, or repeats itself, is asked for once more, shorter.

        Raises:
            ModelReplyError: the second one is no answer either.
        """
        client = self._running.client
        reply = await client.complete(
            self._role, request, tools=tools, tool_choice=choice, tell=self._tell
        )
        if no_answer(reply.message) is None:
            return reply
        shorter = [*request, ephemeral(prompts.SHORTER)]
        reply = await client.complete(
            self._role, shorter, tools=tools, tool_choice=choice, tell=self._tell
        )
        if (why := no_answer(reply.message)) is None:
            return reply
        raise ModelReplyError(prompts.NO_ANSWER[why])


def _is_pictured(history: Sequence[AnyMessage]) -> bool:
    """Whether there is a picture that no model has answered to."""
    new = takewhile(lambda message: not isinstance(message, AIMessage), reversed(history))
    return any(has_images(message) for message in new)
