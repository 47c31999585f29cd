"""Play the demos; store their reports in docs/gallery/ and one of them as an animated image.

    .venv/bin/uv run --no-project --with pyte,pillow,playwright scripts/make_gallery.py

Everything shown is real except the model's turns, which are replayed from a recording, as the first
line of the image says.
"""

from __future__ import annotations

import fcntl
import html
import io
import os
import pty
import re
import struct
import tempfile
import termios
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pyte
from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
GALLERY = ROOT / "docs" / "gallery"
MOVIE = ROOT / "docs" / "images" / "demo.webp"
FILMED = "tips"
COLUMNS, ROWS = 96, 30
WIDTH, HEIGHT = 900, 560
_COLORS = {"default": "#d8dee9", "red": "#ef5350", "green": "#8bc34a", "brown": "#ffb74d"}
_COLORS |= {"blue": "#64b5f6", "magenta": "#ce93d8", "cyan": "#4dd0e1"}
_SPINNER = re.compile(r"  [⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] ")
_TELLING = ("  done", "  call", "Finished")
"""Prefixes of the lines that are worth an image."""
_READ = 700
"""Milliseconds for which an image of the terminal is shown."""


def play(name: str, home: str) -> Iterator[pyte.Screen]:
    """Play a demo on a terminal; yield the screen after each event."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    child, terminal = pty.fork()
    if child == 0:
        environment = {"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8"}
        environment["TERM"] = "xterm-256color"
        program = str(ROOT / ".venv" / "bin" / "manus")
        os.execve(program, ["manus", "demo", name], environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    before = ""
    while True:
        try:
            stream.feed(os.read(terminal, 65536))
        except OSError:  # the program has ended
            break
        lines = [line.rstrip() for line in screen.display if line.strip()]
        last = next((line for line in reversed(lines) if not _SPINNER.match(line)), "")
        if last.startswith(_TELLING) and last != before:
            before = last
            yield screen
    yield screen
    if os.waitpid(child, 0)[1]:
        raise SystemExit(f"The demo {name} failed:\n" + "\n".join(screen.display))


def as_page(screen: pyte.Screen) -> str:
    """Return the content of a terminal, as HTML."""
    rows = []
    for y in range(screen.lines):
        cells = []
        for x in range(screen.columns):
            cell = screen.buffer[y][x]
            color = _COLORS.get(cell.fg, f"#{cell.fg}")
            weight = "bold" if cell.bold else "normal"
            sign = html.escape(cell.data) or ""
            cells.append(f'<i style="color:{color};font-weight:{weight}">{sign}</i>')
        rows.append("".join(cells))
    style = (
        "body{margin:0;padding:14px 18px;background:#1b1f27;font:15.2px/18px 'DejaVu Sans Mono',"
        "monospace;white-space:pre}i{font-style:normal}"
    )
    return f"<meta charset=utf-8><style>{style}</style>" + "\n".join(rows)


def picture(page: Page) -> Image.Image:
    """Return a screenshot of a browser."""
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def keep_report(name: str, folder: Path, home: str) -> None:
    """Store the report of a demo, without paths of this machine."""
    text = (folder / "report.html").read_text("utf-8")
    text = text.replace(str(folder), f"/tmp/manus-{name}").replace(home, "~")
    (GALLERY / f"{name}.html").write_text(text, "utf-8")


def film(page: Page, terminal: list[str], folder: Path) -> None:
    """Join the terminal, the page that the agent built, and the report."""
    shots: list[tuple[Image.Image, int]] = []
    for screen in terminal:
        page.set_content(screen)
        shots.append((picture(page), _READ))
    page.goto((folder / "tip.html").as_uri())
    page.fill("#bill", "80")
    page.click("button")
    shots.append((picture(page), 2500))
    page.goto((GALLERY / f"{FILMED}.html").as_uri())
    for top in (0, HEIGHT - 80, 2 * (HEIGHT - 80)):
        page.evaluate("top => window.scrollTo(0, top)", top)
        shots.append((picture(page), 2000))
    first, *rest = (image for image, _ in shots)
    lengths = [length for _, length in shots]
    first.save(
        MOVIE, save_all=True, append_images=rest, duration=lengths, loop=0, quality=70, method=6
    )


def main() -> None:
    """Play the demos, store their reports, and create the animation."""
    GALLERY.mkdir(exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory(prefix="gallery-") as home:
        browser = playwright.chromium.launch(
            executable_path=which("chromium") or which("google-chrome"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        for name in ("calculator", "rentals", "tips"):
            screens = [as_page(screen) for screen in play(name, home)]
            [folder] = Path(home).glob(f"manus-{name}-*")
            keep_report(name, folder, home)
            if name == FILMED:
                film(page, screens, folder)
        browser.close()


if __name__ == "__main__":
    main()
