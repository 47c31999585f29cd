"""`manus acp`: serve an editor that speaks the Agent Client Protocol."""

from __future__ import annotations

import click


@click.command()
def acp() -> int:
    """Serve an editor over stdin and stdout (Agent Client Protocol)."""
    import asyncio
    from importlib.util import find_spec

    from manus.cli import startup
    from manus.cli.logs import flush_traces, set_up_logging
    from manus.cli.settings import read_settings
    from manus.state.errors import UsageError

    if find_spec("acp") is None:
        raise UsageError(
            "Editors need the package `agent-client-protocol`, which is not installed: install "
            "the extra `acp` (`make setup EXTRAS=acp`)."
        )
    settings = read_settings()
    set_up_logging()
    startup.load()
    from manus.acp.agent import serve

    with flush_traces():
        return asyncio.run(serve(settings))
