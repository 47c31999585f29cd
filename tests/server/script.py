"""Which reply a request gets."""

from collections import deque
from collections.abc import Callable

from tests.server.replies import Call, Reply, as_message
from tests.server.request import Request

Scripted = Reply | Call | Callable[[Request], Reply | Call]
Predicate = Callable[[Request], bool]


class Queue:
    """Replies in order for the requests that match; then, for ever, the one given to `always`."""

    def __init__(self, matches: Predicate | None = None) -> None:
        self._matches = matches
        self._replies: deque[Scripted] = deque()
        self._always: Scripted | None = None

    def script(self, *replies: Scripted) -> "Queue":
        """Add replies at the end."""
        self._replies.extend(replies)
        return self

    def always(self, reply: Scripted) -> "Queue":
        """Give this reply once the others are used up; it is never left unused."""
        self._always = reply
        return self

    @property
    def left(self) -> list[Scripted]:
        """The replies not used so far."""
        return list(self._replies)

    def take(self, request: Request) -> Scripted | None:
        """Take the reply for this request, None when it does not match or nothing is left."""
        if self._matches is not None and not self._matches(request):
            return None
        return self._replies.popleft() if self._replies else self._always


class Script:
    """The queues made with `when`, in the order they were made, and the default one last."""

    def __init__(self) -> None:
        self.default = Queue()
        self._routes: list[Queue] = []

    def route(self, predicate: Predicate) -> Queue:
        """Open a queue of its own for the requests that match."""
        self._routes.append(Queue(predicate))
        return self._routes[-1]

    def take(self, request: Request) -> Scripted | None:
        """Take the first reply that a queue has for this request."""
        taken = (queue.take(request) for queue in (*self._routes, self.default))
        return next((reply for reply in taken if reply is not None), None)

    @property
    def left(self) -> list[Scripted]:
        """The replies not used so far, of all queues."""
        return [reply for queue in (*self._routes, self.default) for reply in queue.left]


def resolve(scripted: Scripted, request: Request) -> Reply:
    """Call a reply that is a function, and put a bare call into a message."""
    reply = scripted if isinstance(scripted, Reply | Call) else scripted(request)
    return as_message(reply) if isinstance(reply, Call) else reply
