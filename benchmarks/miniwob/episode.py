"""One episode: a page with a seed, played by its solver, and the page's own verdict."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.miniwob.player import ActionError, Player
from benchmarks.miniwob.solvers import SOLVERS
from manus.calls.session import Session
from manus.tools.browser.browser import NAME, Browser
from manus.tools.browser.tab import Tab

FULL_REWARD = 0.9
"""Minimum reward, before the page's time discount, for an episode to count as solved."""
EPISODE_SECONDS = 600
"""Time limit of an episode. The pages allow 7 to 30 seconds, less than a model's replies take."""
_SEED = """([seed, milliseconds]) => {
  core.EPISODE_MAX_TIME = milliseconds;
  Math.seedrandom(seed);
}"""
_VERDICT = "() => [WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL]"


@dataclass(frozen=True)
class Episode:
    """The result of one episode. `failure` is empty if it was solved."""

    page: str
    seed: int
    instruction: str
    actions: int
    failure: str
    log: tuple[str, ...]


async def play(session: Session, base: str, page: str, seed: int) -> Episode:
    """Open a page, start an episode with a seed, and let the page's solver play it.

    Scripts run in the page only to set the seed and the time limit, and to read the reward.
    """
    player = Player(session)
    tab = await _open(session, player, f"{base}/miniwob/{page}.html")
    await tab.page.evaluate(_SEED, [f"{page} {seed}", EPISODE_SECONDS * 1000])
    failure = await solve(player, page)
    is_done, reward = await tab.page.evaluate(_VERDICT)
    if reward >= FULL_REWARD:
        failure = ""
    elif is_done:
        failure = f"reward {reward:.2f}"
    failure = failure or ("" if is_done else "the episode did not end")
    return Episode(page, seed, player.task, player.actions, failure, tuple(player.log))


async def solve(player: Player, page: str) -> str:
    """Start the episode of the open page and let its solver play; return why it gave up, if so."""
    await player.click(name="START")
    player.actions = 0
    player.task = player.instruction
    try:
        await SOLVERS[page](player)
    except (ActionError, LookupError, ValueError, RuntimeError) as error:
        return str(error)
    return ""


async def _open(session: Session, player: Player, url: str) -> Tab:
    await player.do("go_to_url", url=url)
    browser = session.peek(NAME)
    assert isinstance(browser, Browser)
    tab = await browser.tab()
    await tab.page.wait_for_function("() => window.core && core.cover_div")
    return tab
