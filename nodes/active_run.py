"""What the nodes of a run share while it works: its session, its tools and its models.

The graph puts it into the run's configuration. It holds no state that matters: after a crash or on
another machine it is built again from state, context and settings.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig

from manus.models.factory import build_model
from manus.models.prices import check_prices
from manus.models.purse import Purse
from manus.models.recording import Recorder
from manus.models.tokens import Calibration
from manus.state.budget import Budget
from manus.state.context import Context
from manus.state.model_settings import ModelSettings
from manus.state.profile import Profile
from manus.state.settings import VISION, Settings, load_settings
from manus.tools.archive import Archive
from manus.tools.catalog import Catalog, build_catalog
from manus.tools.journal import Journal
from manus.tools.session import Session
from manus.tools.workspace import Workspace

KEY = "__manus_running"
"""Where the run's configuration holds it; two underscores keep it out of the checkpoints."""
SHARE = "__manus_share"
"""Where it holds which share of a budget the run has: the place of its step in the plan."""


@dataclass(slots=True)
class Running:
    """One run at work."""

    profile: Profile
    context: Context
    settings: Settings
    session: Session
    catalog: Catalog
    recorder: Recorder | None = None
    purse: Purse = field(default_factory=lambda: Purse(Budget()))
    """What it may still spend on its model."""
    calibration: dict[str, Calibration] = field(default_factory=dict)
    """What estimates of tokens are multiplied by, by model."""
    windows: dict[str, int] = field(default_factory=dict)
    """Context windows that servers have told of, by model."""
    named_windows: set[str] = field(default_factory=set)
    """Models whose server has named its window; the others' were told from what it refused."""
    _models: dict[tuple[str, ModelSettings], BaseChatModel] = field(default_factory=dict)
    _chosen: dict[str, ModelSettings] = field(default_factory=dict)

    @property
    def max_steps(self) -> int:
        """The step budget: the context's, else the settings', else the profile's."""
        return self.context.max_steps or self.settings.max_steps or self.profile.max_steps

    @property
    def budget(self) -> Budget:
        """The limits of the run as they are now: the context's, else the settings'."""
        return self.purse.budget

    @property
    def max_observe(self) -> int:
        """Characters of an observation that the model sees."""
        return self.context.max_observe or self.profile.max_observe

    def model_settings(self, role: str) -> ModelSettings:
        """The endpoint of a role; what the context says counts for the main one."""
        if role not in self._chosen:
            chosen = self.settings.for_role(role)
            if role not in self.settings.roles:
                chosen = chosen.at(self.context.model, self.context.base_url)
            self._chosen[role] = chosen
        return self._chosen[role]

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

    async def model(self, role: str) -> BaseChatModel:
        """The chat model of a role, built when it is first asked for."""
        return await self.model_at(role, self.model_settings(role).with_fallbacks()[0])

    async def model_at(self, role: str, endpoint: ModelSettings) -> BaseChatModel:
        """The chat model of a role at an endpoint: its own, or one of its fallbacks."""
        key = (role, endpoint)
        if key not in self._models:
            self._models[key] = await build_model(endpoint, self.session.workspace.root)
        return self._models[key]


class Alive:
    """Carries a run through a configuration: whoever prints or sends one finds nothing in it."""

    __slots__ = ("run",)

    def __init__(self, run: Running) -> None:
        self.run = run


def running_of(config: RunnableConfig) -> Running:
    """The run that a node belongs to."""
    alive: Alive = config["configurable"][KEY]
    return alive.run


def parent_of(config: RunnableConfig) -> Running | None:
    """The run of ours inside which another one begins, if there is one."""
    alive = config.get("configurable", {}).get(KEY)
    return alive.run if isinstance(alive, Alive) else None


async def open_run(
    key: str,
    profile: Profile,
    context: Context,
    *,
    durable: bool,
    parent: Running | None = None,
    share_of: str | None = None,
    waited: Running | None = None,
) -> Running:
    """Open what a run needs. `durable`: it can be resumed in another process.

    What a run that `waited` for a person kept open is there again. A run inside another one shares
    its settings, models and recording, and has a session of its own; `share_of` names the share
    of its budget.

    Raises:
        SettingsError, UsageError: settings or workspace do not fit.
    """
    made = await asyncio.to_thread(_build, key, profile, context, durable, parent, waited)
    if parent is not None and share_of is not None:
        made.purse.draw_on(parent.purse, share_of)
    if waited is not None and waited.session is not made.session:
        await waited.session.close()
    made.session.waiting = False
    made.session.restart_clock()
    return made


def _build(
    key: str,
    profile: Profile,
    context: Context,
    durable: bool,
    parent: Running | None,
    waited: Running | None,
) -> Running:
    settings = parent.settings if parent is not None else load_settings(os.environ)
    check_prices(settings, context, profile.role)
    workspace = Workspace(context.workspace or settings.workspace)
    session = _kept(waited, profile, workspace)
    if session is None:
        workspace.prepare()
        journal = Journal(Journal.path_for(workspace.private, key) if durable else None)
        journal.open()
        archive = Archive(Archive.path_for(workspace.private, key) if durable else None)
        session = Session(workspace, journal=journal, archive=archive)
    session.profile, session.context, session.settings = profile, context, settings
    catalog = build_catalog(profile.tools, session)
    models = parent._models if parent is not None else {}
    recorder = _recorder(context, workspace, parent or waited)
    made = Running(profile, context, settings, session, catalog, recorder, _models=models)
    made.purse = Purse(context.budget.over(settings.budget))
    if parent is not None:
        made.calibration = parent.calibration
    return made


def _kept(waited: Running | None, profile: Profile, workspace: Workspace) -> Session | None:
    """The session of a run that waited, with all it keeps open, if it fits the one to begin.

    It does not once another process has gone on with the thread: neither its journal nor what its
    shell is in the middle of are true any more. Blocking.
    """
    if waited is None or waited.profile != profile:
        return None
    fits = waited.session.workspace.root == workspace.root and waited.session.journal.is_current()
    return waited.session if fits else None


def _recorder(context: Context, workspace: Workspace, other: Running | None) -> Recorder | None:
    """The recorder of the run inside which, or with which, this one goes on, or a new one."""
    if context.record is None:
        return None
    if other is not None and other.recorder is not None and other.context.record == context.record:
        return other.recorder
    recorder = Recorder(Path(context.record), str(workspace.root))
    recorder.start()
    return recorder
