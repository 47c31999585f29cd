"""What the nodes of a run share while it works: its session, its tools and its models.

The graph puts it into the run's configuration. It holds no state that matters: after a crash or on
another machine it is built again from state, context and settings.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from manus.config.context import Context
from manus.config.model_settings import ModelSettings
from manus.config.profile import Profile
from manus.config.settings import VISION, Settings, load_settings
from manus.config.trust import approved_rules
from manus.execution.archive import Archive
from manus.execution.catalog import Catalog, asks_for_mcp, build_catalog
from manus.execution.downloads import read_downloads
from manus.execution.journal import Journal
from manus.execution.session import Session
from manus.execution.workspace import Workspace
from manus.models.budget import RunBudget, check_prices
from manus.models.client import ModelClient
from manus.models.providers import endpoint_of, name_of
from manus.models.recording import Recorder
from manus.nodes.context.truncation import Shown
from manus.state.agent import Refusal
from manus.state.errors import ModelUnavailableError
from manus.state.messages import text_of
from manus.state.usage import Budget, Spending, Usage, no_usage, with_spending
from manus.tools.remember import REMEMBER

KEY = "__manus_running"
"""Where the run's configuration holds it; two underscores keep it out of the checkpoints."""


@dataclass(slots=True)
class ActiveRun:
    """One run at work."""

    profile: Profile
    context: Context
    settings: Settings
    session: Session
    catalog: Catalog
    recorder: Recorder | None = None
    budget: RunBudget = field(default_factory=lambda: RunBudget(Budget()))
    """What it may use, and has used: that of the outermost run, for all inside it."""
    is_served: bool = False
    """Whether LangGraph's server runs it, whose clients show its state."""
    is_inside: bool = False
    """Whether it is part of another run."""
    approved: list[str] = field(default_factory=list)
    """Rules about calls that a person has approved, in this folder or for this run."""
    refused: list[Refusal] = field(default_factory=list)
    """What was refused in the run."""
    interrupted: set[str] = field(default_factory=set)
    """Tasks that had asked a person when the run was resumed."""
    agent_named: Callable[[str], Any] | None = None
    """The graph of an agent that may be given a task; blocking."""
    model: str | Runnable[Any, Any] | None = None
    """The profile's, or that of the run around this one; the context may name another."""
    max_steps: int = field(init=False)
    """The step budget: the context's, else the settings', else the profile's."""
    uses_mcp: bool = field(init=False)
    """Whether its profile asks for the tools of MCP servers, and there are any."""
    slots: asyncio.Semaphore = field(init=False)
    """One for each agent that may be at work on a task of this one at a time."""
    client: ModelClient = field(init=False)
    """Asks its models."""
    shown: Shown = field(init=False)
    """Its history as the model was last asked with it."""
    _clock: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Make the client of these settings."""
        chosen = self.context
        profile = self.profile
        self.max_steps = chosen.max_steps or self.settings.max_steps or profile.max_steps
        self.uses_mcp = bool(self.settings.mcp) and any(map(asks_for_mcp, profile.tools))
        self.client = ModelClient(
            cache(lambda role: self.model_settings(role).with_fallbacks()),
            cache(self.settings.price_of),
            self.session.workspace.root,
            self.budget,
            self.recorder,
        )
        if self.model is not None and not isinstance(self.model, str):
            self.client.caller_model = self.model
        self.session.complete = self._complete
        self.shown = Shown(self.session.workspace)
        self.slots = asyncio.Semaphore(self.context.max_parallel_steps)

    async def _complete(self, role: str, messages: list[BaseMessage]) -> str:
        """Ask a model for a tool; what that uses is counted with the tool's call."""
        reply = await self.client.complete(role, messages, quiet=True)
        return text_of(reply.message)

    def sync(self, usage: Usage) -> None:
        """Let the budget know what the run has used; one inside another has told it as it went."""
        if not self.is_inside:
            self.budget.sync(usage)

    def lap(self) -> float:
        """Seconds since the last lap: those in which the run works, not those in which it waits."""
        now = time.monotonic()
        elapsed = now - self._clock
        self._clock = now
        return elapsed

    def forget(self) -> None:
        """Keep nothing across threads, and know nothing of what was kept."""
        self.settings = self.settings.model_copy(update={"memory": False})
        self.catalog.remove(REMEMBER)

    def model_settings(self, role: str) -> ModelSettings:
        """The endpoint of a role; what the context says counts for the main one."""
        chosen = self.settings.for_role(role)
        if role in self.settings.roles:
            return chosen
        named = self.context.model or self.model
        if named is None or isinstance(named, str):
            return chosen.at(named, self.context.base_url)
        return endpoint_of(named, chosen)

    def role_for(self, *, pictures: bool) -> str:
        """The role that is asked: the profile's, or `vision` for pictures that it cannot see."""
        role = self.profile.role
        if pictures and VISION in self.settings.roles and not self.model_settings(role).vision:
            return VISION
        return role

    @property
    def sees(self) -> bool:
        """Whether pictures reach a model that sees them."""
        return self.model_settings(self.role_for(pictures=True)).vision


class RunReference:
    """Carries a run through a configuration: whoever prints or sends one finds nothing in it."""

    __slots__ = ("run",)

    def __init__(self, run: ActiveRun) -> None:
        self.run = run


def active_run_of(config: RunnableConfig) -> ActiveRun:
    """The run that a node belongs to."""
    alive: RunReference = config["configurable"][KEY]
    return alive.run


def used_in(lines: list[Spending], active_run: ActiveRun, before: Usage | None = None) -> Usage:
    """What was used before, with these model calls and the time since the last look at it."""
    used = with_spending(before or no_usage(), lines)
    return {**used, "seconds": used["seconds"] + active_run.lap()}


def waits_for_model(
    error: ModelUnavailableError, active_run: ActiveRun, config: RunnableConfig
) -> GraphInterrupt:
    """The interrupt that leaves the node to be run again, whatever it is resumed with.

    It is made by hand: `interrupt()` would take the answers of earlier resumes for its own.
    """
    active_run.session.waiting = True
    question = f"{error} Nothing is lost: resume the run to try again."
    namespace = str(config["configurable"].get("checkpoint_ns", ""))
    return GraphInterrupt([Interrupt.from_ns({"kind": "model", "question": question}, namespace)])


def parent_of(config: RunnableConfig) -> ActiveRun | None:
    """The run of ours inside which another one begins, if there is one."""
    alive = config.get("configurable", {}).get(KEY)
    return alive.run if isinstance(alive, RunReference) else None


async def open_run(
    key: str,
    profile: Profile,
    context: Context,
    *,
    durable: bool,
    parent: ActiveRun | None = None,
    waited: ActiveRun | None = None,
) -> ActiveRun:
    """Open what a run needs. `durable`: it can be resumed in another process.

    What a run that `waited` for a person kept open is there again. A run inside another one shares
    its settings, models, recording and budget, and has a session of its own.

    Raises:
        SettingsError, UsageError: settings or workspace do not fit.
    """
    building = asyncio.ensure_future(
        asyncio.to_thread(_build, key, profile, context, durable, parent, waited)
    )
    try:
        made = await asyncio.shield(building)
    except asyncio.CancelledError:
        # the thread goes on all the same, and opens the files of a session that nobody will close
        building.add_done_callback(partial(_close_unused, waited))
        raise
    if waited is not None and waited.session is not made.session:
        await waited.session.close()
    made.session.waiting = False
    return made


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
    parent: ActiveRun | None,
    waited: ActiveRun | None,
) -> ActiveRun:
    settings = parent.settings if parent is not None else load_settings(os.environ)
    model = profile.model or (parent.model if parent is not None else None)
    named = context.model or (name_of(model) if model else None)
    check_prices(settings, context.model_copy(update={"model": named}), profile.role)
    workspace = Workspace(context.workspace or settings.workspace)
    with ExitStack() as unused:
        session = _kept(waited, profile, workspace)
        if session is None:
            session = _opened(key, workspace, durable)
            unused.callback(session.journal.close)
        session.serve(profile, context, settings)
        catalog = build_catalog(profile.tools, session)
        recorder = _recorder(context, workspace, parent or waited)
        budget = (
            RunBudget(context.budget.over(settings.budget)) if parent is None else parent.budget
        )
        made = ActiveRun(
            profile,
            context,
            settings,
            session,
            catalog,
            recorder,
            budget=budget,
            is_inside=parent is not None,
            model=model,
        )
        unused.pop_all()
    if parent is not None:
        made.refused = parent.refused
    elif waited is not None:
        made.refused = waited.refused
    if parent is None:
        made.approved = waited.approved if waited is not None else approved_rules(workspace.root)
    else:
        made.approved = parent.approved  # what a person approves holds for the whole flow
        made.client.chat_models = parent.client.chat_models
        made.client.calibration = parent.client.calibration
    return made


def _kept(waited: ActiveRun | None, profile: Profile, workspace: Workspace) -> Session | None:
    """The session of a run that waited, with all it keeps open, if it fits the one to begin.

    It does not once another process has gone on with the thread: neither its journal nor what its
    shell is in the middle of are true any more. Blocking.
    """
    if waited is None or waited.profile != profile:
        return None
    fits = waited.session.workspace.root == workspace.root and waited.session.journal.is_current()
    return waited.session if fits else None


def _opened(key: str, workspace: Workspace, durable: bool) -> Session:
    workspace.prepare()
    journal = Journal(Journal.path_for(workspace.records, key) if durable else None)
    journal.open()
    archive = Archive(Archive.path_for(workspace.records, key) if durable else None)
    trusts_folder = workspace.trusts_files(os.environ)
    session = Session(workspace, journal=journal, archive=archive, trusts_folder=trusts_folder)
    session.downloads = read_downloads(workspace)
    return session


def _recorder(context: Context, workspace: Workspace, other: ActiveRun | None) -> Recorder | None:
    """The recorder of the run inside which, or with which, this one goes on, or a new one."""
    if context.record is None:
        return None
    if other is not None and other.recorder is not None and other.context.record == context.record:
        return other.recorder
    recorder = Recorder(Path(context.record), str(workspace.root))
    recorder.start()
    return recorder
