"""What the context retains over a long run.

    python -m benchmarks.context [--steps 400]

The model is scripted (`tests.helpers.long_run`): this measures what the program keeps, cuts, finds
again and sends, not how well a model takes notes.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from pathlib import Path


async def print_long_run(steps: int) -> None:
    """Print retention, prefix share and storage of one long run."""
    from manus.threads.sqlite import open_sqlite
    from tests.helpers import long_run as lib
    from tests.helpers.agent import ScriptedAgent
    from tests.server import ScriptedServer

    os.environ["MANUS_CONTEXT_WINDOW"] = str(lib.WINDOW)
    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder) / "threads.sqlite")
        workspace = Path(folder) / "workspace"
        workspace.mkdir()
        os.chdir(folder)  # a folder without `manus.toml`
        server = ScriptedServer()
        async with open_sqlite(Path(database)) as saver:
            agent = lib.looker_on(ScriptedAgent(server, workspace, saver))
            await lib.long_run(agent, steps)
            retention = await lib.measure_retention(agent, steps)
            bytes_written = await lib.bytes_per_superstep(agent)
            largest = max(len(request.raw) for request in lib.agent_requests(agent))
            share = lib.prefix_share(agent)
        server.close()
    half = len(bytes_written) // 2
    growth = sum(bytes_written[half:]) / sum(bytes_written[:half])
    print(f"{steps} steps, {retention.compactions} compactions, window {lib.WINDOW:,} tokens")
    print(f"  requests kept word for word: {retention.rules}/{len(lib.INSTRUCTIONS)}")
    print(f"  facts in the notes or found by a search: {retention.known}/{retention.facts}")
    print(f"  bytes sent that repeat the request before: {share:.1%}; largest {largest:,}")
    print(f"  stored: {sum(bytes_written) / steps:,.0f} bytes a step")
    print(f"  second half of the steps to the first: {growth:.2f}")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    asyncio.run(print_long_run(args.steps))


if __name__ == "__main__":
    main()
