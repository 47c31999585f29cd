"""The settings of one run: its context, the settings and its profile, resolved once.

A value that several of them have is taken from the first that sets it:

| value | from |
| --- | --- |
| `model` of a role with its own `[roles.NAME]` | that role |
| `model` of another role | context, profile, outer run, settings |
| `base_url` | context (not for a role with its own), settings |
| `max_steps` | context, settings, profile |
| `max_observe` | context, profile |
| `workspace`, `approve.mode`, each limit of `budget` | context, settings |
| `approve.allow` | settings and context together |
| `interactive` | context; False if the approval mode refuses all questions |
| `memory` | settings; False if the run's server has many users |

Everything else comes from the context or from the settings alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.runnables import Runnable

from manus.config.browser_settings import BrowserSettings, EgressSettings, SearchSettings
from manus.config.context import Context, ToolChoice
from manus.config.mcp_settings import McpServer
from manus.config.model_settings import ContextSettings, ModelSettings
from manus.config.profile import Profile
from manus.config.safety_settings import (
    ApproveSettings,
    HookSettings,
    SandboxSettings,
    SecretSettings,
)
from manus.config.settings import Settings
from manus.state.usage import Budget

NO_PROFILE = Profile("", "", (), "", "")
"""The profile of a session outside of a run."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The resolved settings of a run. Its nodes and tools consult nothing else.

    Example:
        run_settings = resolve_settings(load_settings(os.environ), Context(max_steps=30), SWE)
        assert run_settings.max_steps == 30
    """

    profile: Profile
    """The agent's prompts, tools and extras; its limits and model are resolved below."""
    workspace: str
    model: str | Runnable[Any, Any] | None
    """Model of each role without its own; None: that of the settings."""
    base_url: str | None
    max_steps: int
    max_observe: int
    """Characters of an observation that are shown whole."""
    budget: Budget
    approve: ApproveSettings
    interactive: bool
    """Whether a person can be asked."""
    memory: bool
    snapshots: bool
    """Whether the workspace's files are recorded."""
    restore_files: bool
    """Whether a run from an earlier checkpoint restores the files of that time first."""

    tool_choice: ToolChoice
    text_reply: Literal["finish", "continue"]
    duplicate_threshold: int
    conversation: bool
    record: str | None
    reuse: str | None
    max_parallel_steps: int
    max_replans: int
    approve_plan: bool

    browser: BrowserSettings
    search: SearchSettings
    egress: EgressSettings
    sandbox: SandboxSettings
    compaction: ContextSettings
    compact: bool
    secrets: Mapping[str, SecretSettings]
    mcp: Mapping[str, McpServer]
    hooks: tuple[HookSettings, ...]

    context_source: Context
    """The context, which the context of a nested run is built from."""
    settings_source: Settings
    """The settings, which those of a nested run are resolved from."""

    def has_own_model(self, role: str) -> bool:
        """Return whether the settings configure a model for the role."""
        return role in self.settings_source.roles

    def for_role(self, role: str) -> ModelSettings:
        """Return the endpoint of a role. A chat model built by the caller does not change it."""
        endpoint = self.settings_source.for_role(role)
        if self.has_own_model(role):
            return endpoint
        if self.model is None or isinstance(self.model, str):
            return endpoint.at(self.model, self.base_url)
        return endpoint


def resolve_settings(
    settings: Settings,
    context: Context | None = None,
    profile: Profile | None = None,
    *,
    outer_model: str | Runnable[Any, Any] | None = None,
    has_memory: bool = True,
) -> RunSettings:
    """Return the settings of a run; see the table at the top of this module.

    `outer_model`: the model of the run that it is nested in. `has_memory=False` disables the memory
    even if the settings enable it.
    """
    context = context or Context()
    profile = profile or NO_PROFILE
    mode = context.approve or settings.approve.mode
    allow = (*settings.approve.allow, *context.allow)
    return RunSettings(
        profile=profile,
        workspace=context.workspace or settings.workspace,
        model=context.model or profile.model or outer_model,
        base_url=context.base_url,
        max_steps=context.max_steps or settings.max_steps or profile.max_steps,
        max_observe=context.max_observe or profile.max_observe,
        budget=context.budget.over(settings.budget),
        approve=settings.approve.model_copy(update={"mode": mode, "allow": allow}),
        interactive=context.interactive and mode != "refuse",
        memory=settings.memory and has_memory,
        snapshots=settings.snapshots,
        restore_files=context.restore_files,
        tool_choice=context.tool_choice,
        text_reply=context.text_reply,
        duplicate_threshold=context.duplicate_threshold,
        conversation=context.conversation,
        record=context.record,
        reuse=context.reuse,
        max_parallel_steps=context.max_parallel_steps,
        max_replans=context.max_replans,
        approve_plan=context.approve_plan,
        browser=settings.browser,
        search=settings.search,
        egress=settings.egress,
        sandbox=settings.sandbox,
        compaction=settings.context,
        compact=context.compact,
        secrets=settings.secrets,
        mcp=settings.mcp,
        hooks=settings.hooks,
        context_source=context,
        settings_source=settings,
    )
