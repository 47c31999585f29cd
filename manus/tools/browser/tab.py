"""One tab: its page, what it is loading, the numbers of its elements, and what happens there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

from playwright.async_api import CDPSession, ConsoleMessage, ElementHandle, Frame, Page, Request
from playwright.async_api import Error as PlaywrightError

from manus.execution.network.egress_proxy import Recent
from manus.state.text import one_line, shortened

ANSWER_SECONDS = 4.0
"""How long a page may take over a question that a sound one answers at once."""
_PICTURE_SECONDS = 6.0
_AWAITED = frozenset({"document", "xhr", "fetch", "script", "stylesheet"})
SCRIPTS = {p.stem: p.read_text("utf-8") for p in Path(__file__).with_name("js").glob("*.js")}
"""What runs in pages."""

T = TypeVar("T")
Kind = Literal["dialog", "download", "console", "event"]


def script(name: str) -> str:
    """A function that runs in pages, with the store at hand."""
    return f"(...given) => {{\n{SCRIPTS['store']}\nreturn (\n{SCRIPTS[name]}\n)(...given);\n}}"


class PageStuckError(Exception):
    """The page did not answer in time."""


async def with_timeout(seconds: float, awaitable: Awaitable[T]) -> T:
    """What the awaitable gives, if it gives it in time.

    Most calls to a page take no time limit of their own, and a page whose script runs for ever
    never answers any of them.

    Raises:
        PageStuckError: it does not.
    """
    try:
        async with asyncio.timeout(seconds):
            return await awaitable
    except TimeoutError:
        raise PageStuckError(f"no answer within {seconds:g} s") from None


async def attempt(seconds: float, awaitable: Awaitable[T]) -> T | None:
    """The same; None if it does not come in time, or the page is gone."""
    try:
        return await with_timeout(seconds, awaitable)
    except (PlaywrightError, PageStuckError):
        return None


Log = Recent[tuple[Kind, str]]
"""What happened in a browser, in words for the model."""


class Reference(NamedTuple):
    """An element: its frame, the document it belongs to, and its count there."""

    frame: Frame
    token: str
    id: int


async def element_of(reference: Reference, seconds: float) -> ElementHandle | None:
    """The element itself, or None if its document does not have it any more.

    Raises:
        PageStuckError: the frame does not answer in so many seconds.
        PlaywrightError: the frame is gone.
    """
    place = {"token": reference.token, "id": reference.id}
    asking = reference.frame.evaluate_handle(script("element"), place)
    return (await with_timeout(seconds, asking)).as_element()


class Numbering:
    """The numbers of the elements of one document and its frames, from 1, as they were first seen.

    A number stays as long as the document lives; a page that is opened again gets the same ones.
    """

    def __init__(self, token: str = "") -> None:
        self.token = token
        """The document; of another one nothing here is true."""
        self.known: set[int] = set()
        """Numbers that the model has been shown."""
        self.shown: set[int] = set()
        """Those of the last look."""
        self.texts: list[str] = []
        """What stood on the page when it was looked at last, by the model or after an action."""
        self.top = 0
        """How far it was scrolled then."""
        self.labels: dict[int, str] = {}
        """What an element is: `link "Terms"`."""
        self.shown_labels: dict[int, str] = {}
        """The same, as the model was last shown it."""
        self.references: dict[int, Reference] = {}
        self._numbers: dict[Reference, int] = {}

    def number(self, reference: Reference) -> int:
        """The number of an element, a new one if it has none yet."""
        number = self._numbers.setdefault(reference, len(self._numbers) + 1)
        self.references[number] = reference
        return number


class Tab:
    """A page and what happens on it."""

    def __init__(self, identity: int, page: Page, log: Log) -> None:
        self.id = identity
        self.page = page
        self.numbering = Numbering()
        self.target = ""
        """The element that the action under way is meant for, as it is called."""
        self.status = 0
        """How the server has answered, by HTTP's number; 0 of a page that is of no server."""
        self.content_type = ""
        self.arrivals = 0
        """How many pages have come, be it from the same address."""
        self.read: tuple[str, str] | None = None
        """The page's HTML, or a PDF's address, that was read here last, and its text."""
        self.navigation: Request | None = None
        """The page that is being asked for and has not begun to arrive."""
        self._arriving: tuple[int, str] | None = None
        self._requests: dict[Request, float] = {}
        self._log = log
        self._cdp: CDPSession | None = None
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
        except PlaywrightError:  # a worker's, or of a frame that is not there yet
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
            if self._arriving is not None:  # else it only moved within its document
                self.status, self.content_type = self._arriving
                self.arrivals += 1
                self._arriving = None

    def _on_console(self, message: ConsoleMessage) -> None:
        # every server without an icon would be reported otherwise
        icon = str(message.location.get("url", "")).endswith("/favicon.ico")
        if message.type == "error" and not icon:
            self._on_error(message.text)

    def _on_error(self, text: str) -> None:
        self._log.add(("console", shortened(text.strip().split("\n")[0], 200)))

    def is_loading_since(self, moment: float) -> bool:
        """Whether something that was asked for after a moment has not arrived yet."""
        return self.navigation is not None or max(self._requests.values(), default=0) >= moment

    @property
    def is_pdf(self) -> bool:
        """Whether it shows a PDF, which has no elements."""
        return self.content_type.startswith("application/pdf")

    @property
    def route(self) -> str:
        """The address without what pages change while they are filled in: query and anchor.

        An anchor that is a path is one of a page's own views, and counts.
        """
        parts = urlsplit(self.page.url)
        view = parts.fragment if parts.fragment.startswith(("/", "!")) else ""
        return f"{parts.scheme}://{parts.netloc}{parts.path}#{view}"

    async def cdp(self) -> CDPSession | None:
        """The wire to the page's inner workings; None if the page does not answer there either."""
        if self._cdp is None:
            attaching = self.page.context.new_cdp_session(self.page)
            self._cdp = await attempt(ANSWER_SECONDS, attaching)
        return self._cdp

    async def ask(self, name: str) -> Any:
        """Run one of our scripts in the page; raises as `with_timeout`, or if it is gone."""
        return await with_timeout(ANSWER_SECONDS, self.page.evaluate(script(name)))

    async def token(self) -> str:
        """The document that the tab shows now; empty while it changes."""
        try:
            return str((await self.ask("quiet"))["token"])
        except PlaywrightError:
            return ""

    async def _send(self, command: str) -> bool:
        """Whether the page's inner workings have carried out a command."""
        cdp = await self.cdp()
        return cdp is not None and await attempt(ANSWER_SECONDS, cdp.send(command)) is not None

    async def stop_loading(self) -> None:
        """Give up on what is being loaded."""
        await self._send("Page.stopLoading")
        self.navigation = None
        self._requests.clear()

    async def revive(self) -> bool:
        """End a script that runs for ever; whether the page answers then."""
        ended = await self._send("Runtime.terminateExecution")
        return ended and await attempt(ANSWER_SECONDS, self.page.evaluate("true")) is True

    async def title(self) -> str:
        """The page's title, or nothing if it does not tell in time."""
        return one_line(await attempt(1.0, self.page.title()) or "", 200)

    async def picture(self, kind: Literal["png", "jpeg"], quality: int | None = None) -> bytes:
        """The view as a picture; nothing if it is not painted in time."""
        taking = self.page.screenshot(type=kind, quality=quality, scale="css")
        return await attempt(_PICTURE_SECONDS, taking) or b""
