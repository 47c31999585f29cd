"""The objects that the nodes of a run share in this process: session, tools, models.

The graph puts them into the run's configuration. They have no state of their own: after a crash or
on another machine they are rebuilt from state, context and settings.
"""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from manus.calls.catalog import Catalog, asks_for_mcp, build_catalog
from manus.calls.session import Session
from manus.config.context import RUNNING, Context
from manus.config.model_settings import ModelSettings
from manus.config.profile import Profile
from manus.config.run_settings import RunSettings, resolve_settings
from manus.config.settings import VISION, load_settings
from manus.config.trust import approved_rules, find_instructions
from manus.models.client import ModelClient
from manus.models.ledger import UsageLedger, check_prices
from manus.models.model_request import RequestCache
from manus.models.prices import find_price
from manus.models.providers import build_endpoint, select_endpoint
from manus.models.recording import Recorder, ReplayModel
from manus.nodes.open_session import is_reusable, open_files, open_session
from manus.nodes.truncation import RenderedHistory
from manus.nodes.turns import HistoryRepair
from manus.nodes.wrapping import AgentOptions
from manus.prompts import render
from manus.prompts.approval import ALL_FILES, MEMORY
from manus.state.agent import Refusal
from manus.state.errors import ModelUnavailableError
from manus.state.events import FilesEvent
from manus.state.messages import get_text
from manus.state.taint import HistoryFacts
from manus.threads.records.base import JournalLog
from manus.threads.records.thread_inbox import ThreadInbox
from manus.tools.remember import REMEMBER, read_memory
from manus.workspace.workspace import Workspace

BROWSER_TOOL = "browser_use"


@dataclass(slots=True)
class ActiveRun:
    """A run that this process is executing."""

    settings: RunSettings
    session: Session
    catalog: Catalog
    recorder: Recorder | None = None
    ledger: UsageLedger = field(default_factory=UsageLedger)
    """Usage and limits."""
    is_served: bool = False
    """Whether it runs on LangGraph's server, whose clients display its state."""
    is_inside: bool = False
    """Whether it is nested in another run."""
    approved: list[str] = field(default_factory=list)
    """Rules for calls that a person has approved, for this folder or this run."""
    refused: list[Refusal] = field(default_factory=list)
    """Calls that were refused in the run."""
    inbox: ThreadInbox | None = None
    """Messages from the user to the running graph; None if it reads none."""
    shares_inbox: bool = False
    """Whether the graphs nested in the run read them too."""
    interrupted: set[str] = field(default_factory=set)
    """Ids of tasks that were waiting for a person when the run was resumed."""
    continues: list[str] = field(default_factory=list)
    """Ids of the checkpoints of which the resumed checkpoint is a copy."""
    original_tasks: dict[str, list[str]] = field(default_factory=dict)
    """Ids of the same tasks at those checkpoints, newest first, by the id in the copy."""
    files_event: FilesEvent | None = None
    """Event about files restored at the start of the run; the first node emits it."""
    load_agent: Callable[[str], Any] | None = None
    """Returns the graph of a profile that a task can be delegated to; blocking."""
    agent_options: AgentOptions = field(default_factory=AgentOptions)
    """Arguments of `build_agent` other than the profile."""
    uses_mcp: bool = field(init=False)
    """Whether the profile has the tools of MCP servers, and servers are configured."""
    uses_browser: bool = field(init=False)
    """Whether the profile has the browser."""
    has_vision_role: bool = field(init=False)
    """Whether images may need a different model."""
    slots: asyncio.Semaphore = field(init=False)
    """One slot for each nested agent that may run concurrently."""
    client: ModelClient = field(init=False)
    """Client for its models."""
    render_system: Callable[..., str] = field(init=False)
    """Returns the system prompt with the values of its variables; cached."""
    facts: HistoryFacts = field(default_factory=HistoryFacts)
    """Facts about the history that its calls need."""
    history_repair: HistoryRepair = field(init=False)
    rendered_history: RenderedHistory = field(init=False)
    """The history as in the last request to the model."""

    def __post_init__(self) -> None:
        """Build the model client."""
        settings = self.settings
        self.uses_mcp = bool(settings.mcp) and any(map(asks_for_mcp, settings.profile.tools))
        self.uses_browser = self.catalog.find(BROWSER_TOOL) is not None
        self.has_vision_role = settings.has_own_model(VISION)
        self.client = ModelClient(
            cache(lambda role: self.model_settings(role).with_fallbacks()),
            cache(partial(find_price, settings.settings_source)),
            self.session.workspace.root,
            self.ledger,
            self.recorder,
        )
        if settings.model is not None and not isinstance(settings.model, str):
            self.client.caller_model = settings.model
        self.session.complete = self._complete
        self.render_system = cache(partial(render, settings.profile.system_prompt))
        self.history_repair = HistoryRepair(self.session.journal.answer_to)
        self.rendered_history = RenderedHistory(self.session.workspace)
        self.slots = asyncio.Semaphore(settings.max_parallel_steps)

    async def _complete(self, role: str, messages: list[BaseMessage]) -> str:
        """Return a completion for a tool; its usage is counted with the tool's call."""
        reply = await self.client.complete(role, messages, quiet=True)
        return get_text(reply.message)

    def client_for(self, model: Runnable[Any, Any], role: str) -> ModelClient:
        """Return a client for another chat model, within the run's budget."""
        endpoint = build_endpoint(model, self.settings.for_role(role))
        client = replace(
            self.client,
            chain_of=lambda _: [endpoint],
            chat_models={},
            caches=defaultdict(RequestCache),
        )
        client.caller_model = model
        return client

    def model_settings(self, role: str) -> ModelSettings:
        """Return the endpoint of a role."""
        return select_endpoint(self.settings, role)

    def role_for(self, *, has_images: bool) -> str:
        """Return the profile's role, or `vision` for images that its model does not see."""
        role = self.settings.profile.role
        needs_vision = has_images and self.has_vision_role
        if needs_vision and not self.model_settings(role).vision:
            return VISION
        return role

    def announce_restored_files(self, emit: Callable[[Any], None]) -> None:
        """Emit the event about files restored at the start of the run, once."""
        if self.files_event is not None:
            emit(self.files_event)
            self.files_event = None

    @property
    def sees_images(self) -> bool:
        """Return whether images reach a model that sees them."""
        return self.model_settings(self.role_for(has_images=True)).vision


class RunReference:
    """Opaque wrapper of an active run in a configuration, so that nothing prints the run."""

    __slots__ = ("run",)

    def __init__(self, run: ActiveRun) -> None:
        self.run = run


def get_active_run(config: RunnableConfig) -> ActiveRun:
    """Return the active run that a node belongs to."""
    reference: RunReference = config["configurable"][RUNNING]
    return reference.run


def model_interrupt(
    error: ModelUnavailableError, active_run: ActiveRun, config: RunnableConfig
) -> GraphInterrupt:
    """Build the interrupt that pauses the run until the model server is back.

    On resume the node runs again and the resume value is ignored. `interrupt()` cannot be used: it
    would take the answers of earlier resumes for its own.
    """
    active_run.session.waiting = True
    question = f"{error} Nothing is lost: resume the run to try again."
    namespace = str(config["configurable"].get("checkpoint_ns", ""))
    return GraphInterrupt([Interrupt.from_ns({"kind": "model", "question": question}, namespace)])


def get_parent_run(config: RunnableConfig) -> ActiveRun | None:
    """Return the active run that encloses a new one, or None."""
    reference = config.get("configurable", {}).get(RUNNING)
    return reference.run if isinstance(reference, RunReference) else None


async def open_run(
    key: str,
    profile: Profile,
    context: Context,
    *,
    durable: bool,
    is_served: bool = False,
    lines: JournalLog | None = None,
    parent: ActiveRun | None = None,
    waited: ActiveRun | None = None,
) -> ActiveRun:
    """Open the session, tools and models of a run. `durable`: another process can resume it.

    The journal's `lines` are in the records of the workspace if the store has none of its own.

    The session of a run that `waited` for a person is reused. A nested run shares the settings,
    models, recording and budget of its `parent`, and has its own session. A run of a server
    (`is_served`) has no memory across threads, because the server may have many users.

    Raises:
        SettingsError, UsageError: the settings or the workspace are invalid.
    """
    building = asyncio.ensure_future(
        asyncio.to_thread(_build, key, profile, context, durable, is_served, lines, parent, waited)
    )
    try:
        active_run = await asyncio.shield(building)
    except asyncio.CancelledError:
        # the thread continues, and opens the files of a session that nobody will close
        building.add_done_callback(partial(_close_unused, waited))
        raise
    if waited is not None and waited.session is not active_run.session:
        await waited.session.close()
    active_run.session.waiting = False
    return active_run


def _close_unused(waited: ActiveRun | None, building: asyncio.Future[ActiveRun]) -> None:
    """Close the files of a run that was opened for a caller who was cancelled."""
    if building.cancelled() or building.exception() is not None:
        return
    session = building.result().session
    if waited is None or session is not waited.session:
        session.journal.close()


def _build(
    key: str,
    profile: Profile,
    context: Context,
    durable: bool,
    is_served: bool,
    lines: JournalLog | None,
    parent: ActiveRun | None,
    waited: ActiveRun | None,
) -> ActiveRun:
    settings = _resolve(profile, context, parent, is_served=is_served)
    check_prices(settings)
    workspace = Workspace(settings.workspace)
    with ExitStack() as unused:
        session = _reusable_session(waited, profile, workspace)
        if session is None:
            has_files = _has_private_files(workspace, settings, parent)
            session = open_session(key, durable, lines, workspace, has_files=has_files)
            if durable and parent is None and settings.snapshots:
                session.files = open_files(key, session)
            unused.callback(session.journal.close)
        session.settings = settings
        active_run = ActiveRun(
            settings,
            session,
            build_catalog(profile.tools, session, profile.on_demand),
            _recorder(settings, workspace, parent or waited),
            ledger=UsageLedger(settings.budget, parent.ledger if parent is not None else None),
            is_served=is_served,
            is_inside=parent is not None,
        )
        if not settings.memory:
            active_run.catalog.remove(REMEMBER)
        if (settings.memory and read_memory()) or find_instructions(workspace.root):
            session.egress_guard.note_private(MEMORY)
        if settings.approve.taint == "all":
            session.egress_guard.taint(ALL_FILES)
        unused.pop_all()
    _take_over(active_run, parent, waited)
    return active_run


def _resolve(
    profile: Profile, context: Context, parent: ActiveRun | None, *, is_served: bool
) -> RunSettings:
    """Return the settings of a run; a nested one has those of its `parent`."""
    if parent is None:
        return resolve_settings(
            load_settings(os.environ), context, profile, has_memory=not is_served
        )
    outer = parent.settings
    return resolve_settings(
        outer.settings_source,
        context,
        profile,
        outer_model=outer.model,
        has_memory=outer.memory and not is_served,
    )


def _take_over(active_run: ActiveRun, parent: ActiveRun | None, waited: ActiveRun | None) -> None:
    """Share the approvals and refusals of the outer run, or those of the run that waited."""
    active_run.session.lost_calls = "" if parent is None else parent.session.lost_calls
    other = parent or waited
    if other is None:
        root = active_run.session.workspace.root
        active_run.approved = approved_rules(root)
        if active_run.settings.reuse is not None:
            path, workspace = active_run.settings.reuse, str(root)
            active_run.client.earlier = ReplayModel.load(path, workspace)
        return
    active_run.client.earlier = other.client.earlier
    active_run.approved = other.approved  # an approval applies to the whole flow
    active_run.refused = other.refused
    if parent is not None:
        active_run.session.files = parent.session.files
        active_run.session.owns_files = False
        active_run.client.chat_models = parent.client.chat_models
        active_run.client.calibration = parent.client.calibration


def _reusable_session(
    waited: ActiveRun | None, profile: Profile, workspace: Workspace
) -> Session | None:
    """Return the session of a run that waited if the next run can use it. Blocking.

    It cannot if another process has continued the thread: its journal and the state of its shell
    are out of date.
    """
    if waited is None or waited.settings.profile != profile:
        return None
    return waited.session if is_reusable(waited.session, workspace) else None


def _has_private_files(
    workspace: Workspace, settings: RunSettings, parent: ActiveRun | None
) -> bool:
    """Return whether programs of the run can read files of the user: not in an empty workspace."""
    if parent is not None:
        return parent.session.egress_guard.has_files
    is_open = settings.sandbox.kind == "none" or bool(settings.sandbox.read)
    return is_open or (workspace.root.is_dir() and any(workspace.root.iterdir()))


def _recorder(
    settings: RunSettings, workspace: Workspace, other: ActiveRun | None
) -> Recorder | None:
    """Return the recorder of the outer or previous run if its file is the same, or a new one."""
    if settings.record is None:
        return None
    if other is not None and other.settings.record == settings.record:
        return other.recorder
    recorder = Recorder(Path(settings.record), str(workspace.root))
    recorder.start()
    return recorder
