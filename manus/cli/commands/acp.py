"""`manus acp`: serve an editor that speaks the Agent Client Protocol."""

from __future__ import annotations

import click


@click.command()
def acp() -> int:
    """Serve an editor over stdin and stdout (Agent Client Protocol)."""
    import asyncio

    from manus.cli import startup
    from manus.cli.logs import flush_traces, set_up_logging
    from manus.cli.settings import read_settings
    from manus.config.packages import import_optional

    remedy = "install the extra `acp` (`make setup EXTRAS=acp`)"
    import_optional("acp", "Editors need", "agent-client-protocol", remedy)
    settings = read_settings()
    set_up_logging()
    startup.load()
    agent = import_optional("manus.acp.agent", "Editors need", "agent-client-protocol", remedy)

    with flush_traces():
        return int(asyncio.run(agent.serve(settings)))
