"""The sandbox and the proxy of a run's session."""

from __future__ import annotations

from manus.calls.session import Session
from manus.sandbox.egress import EgressRules
from manus.sandbox.egress_proxy import EgressProxy
from manus.sandbox.sandbox import Sandbox, open_sandbox


async def get_egress_proxy(session: Session) -> EgressProxy:
    """Return the proxy of a session; start it on first use."""

    async def make() -> EgressProxy:
        proxy = await EgressProxy.start(EgressRules(session.settings.egress))
        proxy.rules.has_sandbox = session.settings.sandbox.kind != "none"
        proxy.guard = session.egress_guard
        return proxy

    return await session.obtain("egress", make)


async def get_sandbox(session: Session) -> Sandbox:
    """Return the sandbox of a session; open it on first use.

    Raises:
        ToolUnavailableError: see `open_sandbox`.
    """
    settings = session.settings

    async def create() -> Sandbox:
        proxy = await get_egress_proxy(session)
        workspace = session.workspace
        writes = session.files.writes if session.files is not None else None
        sandbox = await open_sandbox(
            settings.sandbox,
            workspace.root,
            proxy,
            workspace.records,
            writes,
            workspace.approved_writes,
        )
        if sandbox.kind != "bubblewrap":  # programs can read files of the machine
            session.egress_guard.has_files = True
        return sandbox

    return await session.obtain("sandbox", create)
