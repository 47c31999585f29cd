"""Report one sentence instead of a traceback if a server's services are missing at startup."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_FAILED = "lifespan.startup.failed"


def explain_startup_error(error: BaseException) -> str | None:
    """Return why Aegra cannot start, in a sentence; None if none of its services is the cause."""
    chain = list(_causes(error))
    modules = {type(cause).__module__.partition(".")[0] for cause in chain}
    text = "\n".join(map(str, chain))
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    if "redis" in modules:
        return f"Redis cannot be used ({reason}); start it, or correct REDIS_URL."
    if "Can't locate revision" in text:
        return (
            f"The database was written by a newer version of Aegra ({reason}); update aegra-api on "
            "this machine. Nothing was changed."
        )
    if "permission denied" in text:
        denied = reason[reason.index("permission denied") :] if "permission" in reason else reason
        return (
            f"The tables cannot be created ({denied}); grant the role in DATABASE_URL permission "
            "to create tables, or start one server with another role first."
        )
    if isinstance(error, OSError) or modules & {"asyncpg", "psycopg", "sqlalchemy"}:
        return f"PostgreSQL cannot be used ({reason}); start it, or correct DATABASE_URL."
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that led to it."""
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__


class StartupErrors:
    """ASGI middleware that explains why the application could not start."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward everything except the traceback of a failed start."""
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        failure: Message | None = None

        async def send_unless_failed(message: Message) -> None:
            nonlocal failure
            if message["type"] == _FAILED:
                failure = message
            else:
                await send(message)

        try:
            await self._app(scope, receive, send_unless_failed)
        except Exception as error:
            if failure is not None:
                explanation = explain_startup_error(error)
                await send({**failure, "message": explanation or failure["message"]})
            raise
