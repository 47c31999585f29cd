"""The scripted server: the object that tests use."""

import asyncio
import ssl
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Self

from tests.server.listener import Listener
from tests.server.replies import Call, Cut, Raw, Reply, as_message, fail, text
from tests.server.request import Request
from tests.server.rules import refusal
from tests.server.strict import StrictProfile

_NO_RETRY = {"x-should-retry": "false"}
Scripted = Reply | Call | Callable[[Request], Reply | Call]
Predicate = Callable[[Request], bool]


class Queue:
    """Replies in order for the requests that match; then, forever, the one given to `always`."""

    def __init__(self, matches: Predicate | None = None) -> None:
        self._matches = matches
        self.left: deque[Scripted] = deque()
        self._always: Scripted | None = None

    def script(self, *replies: Scripted) -> "Queue":
        """Append replies."""
        self.left.extend(replies)
        return self

    def always(self, reply: Scripted) -> "Queue":
        """Send this reply once the others are used up; it never counts as unused."""
        self._always = reply
        return self

    def take(self, request: Request) -> Scripted | None:
        """Return the reply for this request, or None if it does not match or nothing is left."""
        if self._matches is not None and not self._matches(request):
            return None
        return self.left.popleft() if self.left else self._always


class ScriptedServer:
    """An OpenAI-compatible chat server that replies from a script; it starts on construction.

    Attributes:
        requests: Every chat request received, in order.
        unexpected: Those for which the script had no reply left; answered with 500.
        violations: Requests that the real API would reject; answered with 400 (or 404 for a path).
        errors: Exceptions from functions in the script, including failed assertions; with 500.
        strict: Whether requests are checked against the rules of the real API.
        profile: Rules of a strict server, which refuses requests without using up the script.
        refused: The requests that it has refused.
        models: The names that `/v1/models` lists.
        looks: The requests for it, and others that are not chat requests.
        pages: Responses at other paths, as a product has them.
        repeats: Whether a text is repeated, outside of the script, when the agent sends it back.
    """

    def __init__(
        self, *, tls: ssl.SSLContext | None = None, path: str = "/v1/chat/completions"
    ) -> None:
        """Listen; chat requests are accepted at `path`, or at any path if it is empty."""
        self.strict = True
        self.profile: StrictProfile | None = None
        self._scheme = "https" if tls else "http"
        self._path = path
        self.models = ["scripted"]
        self.looks: list[Request] = []
        self.pages: Mapping[str, Raw | Cut] = {}
        self._changed = threading.Condition()
        self.begin()
        self._listener = Listener(self, tls)

    def begin(self) -> None:
        """Forget all requests and scripts."""
        self.requests: list[Request] = []
        self.unexpected: list[Request] = []
        self.refused: list[Request] = []
        self.violations: list[str] = []
        self.errors: list[Exception] = []
        self._routes: list[Queue] = []
        self._default = Queue()
        self._may_leave = False
        self.repeats = True

    @property
    def port(self) -> int:
        return int(self._listener.server_address[1])

    @property
    def base_url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}/v1"

    def script(self, *replies: Scripted) -> Self:
        """Append replies, one for each future request, in order."""
        with self._changed:
            self._default.script(*replies)
        return self

    def always(self, reply: Scripted) -> Self:
        """Send this reply whenever the script is used up."""
        with self._changed:
            self._default.always(reply)
        return self

    def when(self, predicate: Predicate, *replies: Scripted) -> Queue:
        """Reserve replies for the requests that match; `mentions("words")` is such a predicate.

        A matching request takes a reply from this queue first, and from later ones if it is empty.
        Queues are tried in order of creation, the default one last.
        """
        with self._changed:
            self._routes.append(Queue(predicate))
            return self._routes[-1].script(*replies)

    def allow_unused(self) -> Self:
        """Allow unused replies at the end."""
        self._may_leave = True
        return self

    def wait_for(self, count: int, timeout: float = 60.0) -> Request:
        """Block until this many requests have arrived, and return the last of them."""
        with self._changed:
            if self._changed.wait_for(lambda: len(self.requests) >= count, timeout):
                return self.requests[count - 1]
        raise TimeoutError(f"{len(self.requests)} requests came in {timeout} s, not {count}.")

    async def wait_async(self, count: int, timeout: float = 60.0) -> Request:
        """Wait like `wait_for`, without blocking the event loop."""
        return await asyncio.to_thread(self.wait_for, count, timeout)

    def verify(self) -> None:
        """Check that everything went according to the script."""
        if complaint := self.complaint():
            raise AssertionError(complaint) from next(iter(self.errors), None)

    def complaint(self) -> str:
        """Return the deviations from the script; empty if there are none."""
        problems = [
            *(f"refused by the real API: {violation}" for violation in self.violations),
            *(f"unexpected: {request}" for request in self.unexpected),
            *(f"the script raised {error!r}" for error in self.errors),
        ]
        if not self._may_leave:
            queues = (*self._routes, self._default)
            problems += [f"left unused: {reply}" for queue in queues for reply in queue.left]
        heading = f"The scripted server, after {len(self.requests)} requests:"
        return "\n- ".join([heading, *problems]) if problems else ""

    def close(self) -> None:
        """Stop: release hung replies, close connections, refuse new ones."""
        self._listener.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answer(self, request: Request) -> Reply:
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
        try:
            return self._scripted(request)
        except Exception as error:  # noqa: BLE001 - it belongs to the test, which `verify` tells
            self.errors.append(error)
            return _fail_out_of_script(f"The script raised {error!r}.")

    def is_chat(self, path: str) -> bool:
        return path.partition("?")[0] == self._path or not self._path

    def refuse(self, method: str, path: str) -> Reply:
        self.violations.append(f"There is no {method} {path}.")
        return fail(404, code="unknown_url", message=f"Unknown request URL: {method} {path}.")

    def _scripted(self, request: Request) -> Reply:
        if self.strict and (reason := refusal(request)):
            self.violations.append(f"{reason} {request}")
            return fail(400, message=reason)
        if self.profile is not None:
            response = self.profile.refuse(request.body)
            if response is not None:
                self.refused.append(request)
                return response
        if self.repeats and (said := request.sent_back):
            return text(said)
        with self._changed:
            replies = (queue.take(request) for queue in (*self._routes, self._default))
            scripted = next((reply for reply in replies if reply is not None), None)
        if scripted is None:
            self.unexpected.append(request)
            return _fail_out_of_script(f"Nothing is left in the script for {request}.")
        reply = scripted if isinstance(scripted, Reply | Call) else scripted(request)
        return as_message(reply) if isinstance(reply, Call) else reply


def _fail_out_of_script(message: str) -> Raw:
    return fail(500, code="out_of_script", message=message, headers=_NO_RETRY)
