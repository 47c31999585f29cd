"""`python -m benchmarks.miniwob.solve URL`: solve one episode of a page that is being served."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from benchmarks.miniwob.episode import solve
from benchmarks.miniwob.player import Player, open_session


async def solve_at(url: str) -> str:
    """Open a page, start it, and let its solver play; return the reason if the solver gave up."""
    with tempfile.TemporaryDirectory() as root:
        session = open_session(root)
        player = Player(session)
        await player.do("go_to_url", url=url)
        failure = await solve(player, PurePosixPath(urlsplit(url).path).stem)
        await player.do("wait", seconds=0.5)  # the page reports its reward
        await session.close()
    return failure


if __name__ == "__main__":
    sys.exit(asyncio.run(solve_at(sys.argv[1])) or None)
