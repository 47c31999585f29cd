"""MiniWoB++ tasks, solved by scripted policies through the tool alone.

    pip install --no-deps miniwob
    python -m benchmarks.miniwob [--episodes N] [--task NAME] [--out FILE]

The pages are served on loopback. A task counts as solved when every episode of it (each with a
seed of its own) ends with a reward above nothing. The harness starts an episode's clock late and
reads the reward; a policy sees the tool's text and uses the tool's actions.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import importlib.util
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.miniwob_player import Player
from benchmarks.miniwob_policy import POLICIES
from manus.state.browser_settings import EgressSettings
from manus.state.errors import ManusError
from manus.state.settings import Settings
from manus.tools.browser.browser import obtain_browser
from manus.tools.browser_use import BrowserUse
from manus.tools.session import Session
from manus.tools.workspace import Workspace

_SECONDS = 90.0
_BEGIN = "seed => { core.EPISODE_MAX_TIME = 600000; Math.seedrandom(seed) }"
_RESULT = "() => [WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL]"

# Why a task has no policy. Most ask for eyes, or for reading words as a person does.
_EYES = "asks for eyes: what counts is drawn and not written"
_WORDS = "asks for knowing what words mean, which a script does not"
_AIM = "asks for drawing or dragging along a path of pixels"
_REASONS = {
    **dict.fromkeys(
        (
            "bisect-angle",
            "circle-center",
            "find-midpoint",
            "right-angle",
            "draw-circle",
            "draw-line",
            "drag-cube",
            "resize-textarea",
            "highlight-text",
            "highlight-text-2",
        ),
        _AIM,
    ),
    **dict.fromkeys(
        ("count-sides", "visual-addition", "hot-cold", "number-checkboxes", "click-shades"), _EYES
    ),
    **dict.fromkeys(
        ("chase-circle", "moving-items", "hover-shape", "simon-says"), "asks for fast reactions"
    ),
    **dict.fromkeys(
        ("click-checkboxes-soft", "email-inbox-forward-nl-turk", "email-inbox-nl-turk"), _WORDS
    ),
}
_NO_POLICY = "no policy was written for it"


@contextmanager
def serve() -> Iterator[tuple[str, list[str]]]:
    spec = importlib.util.find_spec("miniwob")
    if spec is None or spec.origin is None:
        raise SystemExit("miniwob is not installed: pip install --no-deps miniwob")
    root = Path(spec.origin).parent / "html"

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Handler, directory=str(root))
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    tasks = sorted(path.stem for path in (root / "miniwob").glob("*.html"))
    try:
        yield f"http://127.0.0.1:{httpd.server_port}/miniwob/", tasks
    finally:
        httpd.shutdown()


async def episode(session: Session, url: str, name: str, seed: int) -> str:
    """Play one episode; nothing if it is won, else why not."""
    tool = BrowserUse(session=session)
    await tool.observe(action="go_to_url", url=url)
    browser, _ = await obtain_browser(session)
    page = (await browser.tab()).page
    await page.evaluate(_BEGIN, str(seed))
    player = Player(tool)
    await player.look()
    why = ""
    try:
        async with asyncio.timeout(_SECONDS):
            await player.begin()
            await POLICIES[name](player)
    except TimeoutError:
        why = "took too long"
    except (ManusError, LookupError, StopIteration, RuntimeError, ValueError, AssertionError) as e:
        why = f"{type(e).__name__}: {e}".split("\n")[0][:100]
    done, reward = await page.evaluate(_RESULT)
    if done and reward > 0:
        return ""
    return why or (f"reward {reward:g}" if done else "not finished") + f" ({player.task[:80]})"


async def play(episodes: int, only: str | None) -> list[str]:
    lines, solved = [], 0
    with serve() as (base, tasks), tempfile.TemporaryDirectory() as root:
        workspace = Workspace(root)
        workspace.prepare()
        settings = Settings(egress=EgressSettings(allow_private=("127.0.0.1",)))
        session = Session(workspace, settings=settings)
        for name in [only] if only else tasks:
            if name not in POLICIES:
                lines.append(f"| {name} | – | {_REASONS.get(name, _NO_POLICY)} |")
                continue
            failures = []
            for seed in range(1, episodes + 1):
                if why := await episode(session, f"{base}{name}.html", name, seed):
                    failures.append(f"seed {seed}: {why}")
            solved += not failures
            won = f"{episodes - len(failures)} of {episodes}"
            lines.append(f"| {name} | {won} | {'; '.join(failures) or 'solved'} |")
            print(lines[-1], flush=True)
        await session.close()
    return [
        f"{solved} of {len(tasks)} tasks solved.",
        "",
        "| task | episodes won | |",
        "| --- | ---: | --- |",
        *lines,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=3)
    parser.add_argument("--task", help="only this one")
    parser.add_argument("--out", type=Path, help="a file for the table")
    arguments = parser.parse_args()
    lines = asyncio.run(play(arguments.episodes, arguments.task))
    print(lines[0])
    if arguments.out:
        note = (
            "# MiniWoB++ through the browser tool\n\nScripted policies that see only the tool's "
            "text and use only its actions; solved means every episode won. "
            "Made by `python -m benchmarks.miniwob`.\n\n"
        )
        arguments.out.write_text(note + "\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
