"""Scripts as JSON lines, for the server as a process of its own.

Each line is a reply, named by its first field; the rest are the options of the function of that
name:

    {"call": "bash", "arguments": {"command": "ls"}}
    {"calls": [{"call": "bash", "raw": "{"}, {"call": "bash", "id": null}], "text": "aloud"}
    {"text": "done", "usage": null, "delay": 0.2}
    {"fail": 429, "retry_after": 1}
    {"cut": 2, "reply": {"text": "a long story"}}
    {"hang": null}
    {"raw": "<html>", "status": 502}

Two more fields place it: `"when": "words"` keeps it for conversations with these words,
`"always": true` gives it for ever once the others are used up.
"""

import json
from pathlib import Path
from typing import Any

from tests.server import replies
from tests.server.replies import Call, Message, Reply
from tests.server.request import mentions
from tests.server.server import ScriptedServer


def load(server: ScriptedServer, path: Path) -> None:
    """Add the replies of a file to a server.

    Raises:
        ValueError: A line is not a reply.
    """
    routes: dict[str, Any] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            _place(server, routes, json.loads(line))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {number}: {error}") from error


def _place(server: ScriptedServer, routes: dict[str, Any], line: dict[str, Any]) -> None:
    words, always = line.pop("when", None), line.pop("always", False)
    queue: Any = server
    if words is not None:
        queue = routes.get(words) or routes.setdefault(words, server.when(mentions(words)))
    (queue.always if always else queue.script)(reply(line))


def reply(line: dict[str, Any]) -> Reply | Call:
    """Read one reply.

    Raises:
        ValueError: It is of no known kind.
        TypeError: An option is not one of its kind.
    """
    match line:
        case {"cut": int(after), **options}:
            return replies.cut(after, **_nested(options))
        case {"hang": until, **options}:
            return replies.hang(until, **_nested(options))
        case {"fail": int(status), **options}:
            return replies.fail(status, **options)
        case {"raw": str(body), **options} if "call" not in line:
            return replies.raw(body.encode(), **options)
        case _:
            return _spoken(line)


def _nested(options: dict[str, Any]) -> dict[str, Any]:
    said = options.get("reply")
    return {**options, "reply": None if said is None else _spoken(said)}


def _spoken(line: dict[str, Any]) -> Message | Call:
    match line:
        case {"calls": list(made), **options}:
            return replies.calls(*(_call(**one) for one in made), **options)
        case {"call": str()}:
            return _call(**line)
        case {"text": str(content), **options}:
            return replies.text(content, **options)
        case _:
            raise ValueError(f"{line} is no reply")


def _call(*, call: str, arguments: dict[str, Any] | None = None, **options: Any) -> Call:
    if unknown := set(options) - {"raw", "id"}:
        raise ValueError(f"a call takes arguments, raw and id, not {sorted(unknown)}")
    return replies.call(call, arguments, **options)
