"""One tab: its page, its pending requests, the numbers of its elements, and its events."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

from playwright.async_api import CDPSession, ConsoleMessage, ElementHandle, Frame, Page, Request
from playwright.async_api import Error as PlaywrightError

from manus.prompts.sources import FILE, WEB
from manus.sandbox.egress_proxy import RecentItems
from manus.state.text import one_line, shorten
from manus.tools.browser.closed_roots import store_closed_roots

ANSWER_SECONDS = 4.0
"""Timeout of a request that a responsive page answers at once."""
_PICTURE_SECONDS = 6.0
_SMALL_SECONDS = 2.0
_SMALL = 720
"""Pixels of the width of a small picture."""
_QUALITIES = (60, 30, 10)
"""JPEG qualities to try until a small picture is small enough."""
_MAX_SMALL = 60_000
"""Bytes of a small picture."""
FAILED_RESOURCE = "Failed to load resource"
"""Start of Chromium's message about a file that the page lacks."""
_AWAITED = frozenset({"document", "xhr", "fetch", "script", "stylesheet"})
SCRIPTS = {p.stem: p.read_text("utf-8") for p in Path(__file__).with_name("js").glob("*.js")}
"""Scripts that run in pages, by name."""
_PARTS = dict.fromkeys(("walk", "content", "describe", "value"), ("naming",))
"""Scripts that other scripts need, besides the store."""

T = TypeVar("T")
Kind = Literal["dialog", "download", "console", "event"]


def script(name: str) -> str:
    """Return a JavaScript function that runs in pages with access to the store."""
    parts = "\n".join(SCRIPTS[part] for part in ("store", *_PARTS.get(name, ())))
    return f"(...given) => {{\n{parts}\nreturn (\n{SCRIPTS[name]}\n)(...given);\n}}"


class PageStuckError(Exception):
    """The page did not respond in time."""


async def with_timeout(seconds: float, awaitable: Awaitable[T]) -> T:
    """Await with a timeout.

    Most calls to a page have no timeout of their own, and a page whose script runs forever never
    responds to them.

    Raises:
        PageStuckError: the timeout expired.
    """
    try:
        async with asyncio.timeout(seconds):
            return await awaitable
    except TimeoutError:
        raise PageStuckError(f"no response within {seconds:g} s") from None


async def attempt(seconds: float, awaitable: Awaitable[T]) -> T | None:
    """Await with a timeout; return None after the timeout, or if the page is gone."""
    try:
        return await with_timeout(seconds, awaitable)
    except (PlaywrightError, PageStuckError):
        return None


Log = RecentItems[tuple[Kind, str]]
"""Events in a browser, in words for the model."""


class Reference(NamedTuple):
    """A reference to an element: its frame, its document, and its number in the document."""

    frame: Frame
    token: str
    id: int


async def get_element(reference: Reference, seconds: float) -> ElementHandle | None:
    """Return the element, or None if its document no longer contains it.

    Raises:
        PageStuckError: the frame does not respond in time.
        PlaywrightError: the frame is gone.
    """
    arguments = {"token": reference.token, "id": reference.id}
    request = reference.frame.evaluate_handle(script("element"), arguments)
    return (await with_timeout(seconds, request)).as_element()


class Numbering:
    """The numbers of the elements of one document and its frames, from 1, in order of discovery.

    A number is stable as long as the document lives; a page that is reloaded gets the same ones.
    """

    def __init__(self, token: str = "") -> None:
        self.token = token
        """The document that the numbers belong to."""
        self.existing: set[int] = set()
        """Numbers that the model has seen."""
        self.visible: set[int] = set()
        """Numbers in the last snapshot."""
        self.texts: set[str] = set()
        """The lines of the page in the last snapshot, for the model or after an action."""
        self.top = 0
        """The scroll position in that snapshot."""
        self.labels: dict[int, str] = {}
        """Descriptions of elements: `link "Terms"`."""
        self.keys: dict[int, str] = {}
        """Keys that distinguish elements with the same label: an id, a name, an address."""
        self.rows: dict[int, str] = {}
        """The first words of the list entries, table rows or paragraphs around elements."""
        self.visible_labels: dict[int, str] = {}
        """The descriptions that the model saw last."""
        self.references: dict[int, Reference] = {}
        self._numbers: dict[Reference, int] = {}

    def number(self, reference: Reference) -> int:
        """Return the number of an element; assign one if it has none."""
        number = self._numbers.setdefault(reference, len(self._numbers) + 1)
        self.references[number] = reference
        return number


class Tab:
    """A page and its events."""

    def __init__(self, identity: int, page: Page, log: Log) -> None:
        self.id = identity
        self.page = page
        self.numbering = Numbering()
        self.keeps_pictures = False
        """Whether the current action marks its clicks."""
        self.marked: tuple[bytes, dict[str, float]] | None = None
        """The picture before its click; the point, and the size of the viewport."""
        self.target = ""
        """The label of the element that the current action refers to."""
        self.last_search = ("", 0)
        """The text that was scrolled to last, and the number of its occurrence, from 0."""
        self.status = 0
        """The HTTP status of the page; 0 for a page without a server."""
        self.content_type = ""
        self.arrivals = 0
        """Number of pages loaded so far, including reloads."""
        self.read: tuple[str, str] | None = None
        """Cache of the page read last: its HTML, or a PDF's address, and its text."""
        self.navigation: Request | None = None
        """The pending navigation request, if its response has not started."""
        self._arriving: tuple[int, str] | None = None
        self._requests: dict[Request, float] = {}
        self._log = log
        self._cdp: CDPSession | None = None
        self._searched_page = -1
        """The number of the page, as in `arrivals`, whose closed roots are known."""
        page.on("request", self._on_request)
        page.on("response", self._on_response)
        page.on("requestfinished", self._on_end)
        page.on("requestfailed", self._on_failure)
        page.on("framenavigated", self._on_navigated)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self._on_error(str(error)))

    def _is_main(self, request: Request) -> bool:
        try:
            return request.is_navigation_request() and request.frame == self.page.main_frame
        except PlaywrightError:  # of a worker, or of a frame that does not exist yet
            return False

    def _on_request(self, request: Request) -> None:
        if self._is_main(request):
            self.navigation = request
        if request.resource_type in _AWAITED:
            self._requests[request] = time.monotonic()

    def _on_response(self, response: Any) -> None:
        if self._is_main(response.request):
            self._arriving = (response.status, response.headers.get("content-type", ""))

    def _on_end(self, request: Request) -> None:
        self._requests.pop(request, None)
        if request == self.navigation:
            self.navigation = None

    def _on_failure(self, request: Request) -> None:
        if request == self.navigation and request.failure and "ABORTED" not in request.failure:
            self._log.add(("event", f"{request.url} could not be loaded: {request.failure}"))
        self._on_end(request)

    def _on_navigated(self, frame: Frame) -> None:
        if frame == self.page.main_frame:
            self.navigation = None
            if self._arriving is not None:  # otherwise it is a navigation within the document
                self.status, self.content_type = self._arriving
                self.arrivals += 1
                self._arriving = None

    def _on_console(self, message: ConsoleMessage) -> None:
        url = str(message.location.get("url", ""))
        # a missing icon is not a problem of the page
        if message.type != "error" or url.endswith("/favicon.ico"):
            return
        text = message.text
        if text.startswith(FAILED_RESOURCE):
            if urlsplit(url).hostname != urlsplit(self.page.url).hostname:
                return  # most pages also refer to other hosts
            text = f"{text}: {shorten(url, 110)}"
        self._on_error(text)

    def _on_error(self, text: str) -> None:
        self._log.add(("console", shorten(text.strip().split("\n")[0], 200)))

    def is_loading_since(self, moment: float) -> bool:
        """Return whether a request made after a monotonic time is still pending."""
        return self.navigation is not None or max(self._requests.values(), default=0) >= moment

    @property
    def is_loading(self) -> bool:
        """Return whether any request is pending."""
        return self.navigation is not None or bool(self._requests)

    async def shows_pdf(self) -> bool:
        """Return whether the tab shows a PDF, which has no elements."""
        if not self.arrivals:  # the response came before the tab that another page opened
            kind = await attempt(ANSWER_SECONDS, self.page.evaluate("document.contentType"))
            self.content_type = str(kind or "")
        return self.content_type.startswith("application/pdf")

    @property
    def source(self) -> str:
        """Return the source of its content, for the frame of the page's text in prompts."""
        url = self.page.url
        host = None
        if url.startswith("file:"):
            host = FILE
        elif url.startswith("http"):
            host = urlsplit(url).hostname
        return f"{WEB}: {host}" if host else WEB

    @property
    def route(self) -> str:
        """Return the address without its query and fragment.

        Pages change both while a form is filled in. A fragment that is a path identifies a view of
        the page, and is kept.
        """
        parts = urlsplit(self.page.url)
        view = parts.fragment if parts.fragment.startswith(("/", "!")) else ""
        return f"{parts.scheme}://{parts.netloc}{parts.path}#{view}"

    async def cdp(self) -> CDPSession | None:
        """Return the DevTools session of the page; None if it does not respond."""
        if self._cdp is None:
            attaching = self.page.context.new_cdp_session(self.page)
            self._cdp = await attempt(ANSWER_SECONDS, attaching)
        return self._cdp

    async def find_closed_roots(self) -> None:
        """Let our scripts see the closed shadow roots that a new page declares."""
        cdp = await self.cdp() if self._searched_page != self.arrivals else None
        if cdp is not None:
            await attempt(ANSWER_SECONDS, store_closed_roots(cdp))
            self._searched_page = -1 if self.is_loading else self.arrivals

    async def ask(self, name: str) -> Any:
        """Run one of our scripts in the page; raise like `with_timeout`, or if the page is gone."""
        return await with_timeout(ANSWER_SECONDS, self.page.evaluate(script(name)))

    async def token(self) -> str:
        """Return the token of the current document; empty while it changes."""
        try:
            return str((await self.ask("quiet"))["token"])
        except PlaywrightError:
            return ""

    async def _send(self, command: str) -> bool:
        """Send a DevTools command; return whether it succeeded."""
        cdp = await self.cdp()
        return cdp is not None and await attempt(ANSWER_SECONDS, cdp.send(command)) is not None

    async def stop_loading(self) -> None:
        """Stop loading the page."""
        await self._send("Page.stopLoading")
        self.navigation = None
        self._requests.clear()

    async def revive(self) -> bool:
        """Terminate a script that runs forever; return whether the page then responds."""
        is_ended = await self._send("Runtime.terminateExecution")
        return is_ended and await attempt(ANSWER_SECONDS, self.page.evaluate("true")) is True

    async def title(self) -> str:
        """Return the page's title; empty if it does not respond in time."""
        return one_line(await attempt(1.0, self.page.title()) or "", 200)

    async def small_picture(self) -> bytes:
        """Take a small JPEG of the viewport; empty if it is not painted in time, or too large."""
        cdp = await self.cdp()
        if cdp is None:
            return b""
        metrics = await attempt(_SMALL_SECONDS, cdp.send("Page.getLayoutMetrics"))
        view = (metrics or {}).get("cssVisualViewport")
        if not view or not view["clientWidth"]:
            return b""
        clip = {"x": view["pageX"], "y": view["pageY"], "scale": _SMALL / view["clientWidth"]}
        clip |= {"width": view["clientWidth"], "height": view["clientHeight"]}
        for quality in _QUALITIES:
            request = {"format": "jpeg", "quality": quality, "clip": clip}
            picture = await attempt(_SMALL_SECONDS, cdp.send("Page.captureScreenshot", request))
            data = base64.b64decode((picture or {}).get("data", ""))
            if len(data) <= _MAX_SMALL:
                return data
        return b""

    async def mark(self, x: float, y: float) -> None:
        """Take the picture of a step now: before a click at this point."""
        size = self.page.viewport_size
        if self.keeps_pictures and size is not None:
            point = {"x": x, "y": y, "width": size["width"], "height": size["height"]}
            self.marked = await self.small_picture(), point

    async def picture(self, kind: Literal["png", "jpeg"], quality: int | None = None) -> bytes:
        """Take a screenshot of the viewport; empty if it is not painted in time."""
        request = self.page.screenshot(type=kind, quality=quality, scale="css")
        return await attempt(_PICTURE_SECONDS, request) or b""
