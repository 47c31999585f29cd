"""The server as a process: `python -m tests.server --script FILE.jsonl`.

It prints its base URL as its first line and serves until it is interrupted or terminated; then
it exits with 1, and says why on standard error, unless all went by the script.
"""

import argparse
import json
import signal
import sys
import threading
from pathlib import Path

from tests.server.jsonl import load
from tests.server.server import ScriptedServer


def main(arguments: list[str] | None = None) -> int:
    """Serve, and return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    done = threading.Event()
    for signal_ in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_, lambda *_: done.set())
    with ScriptedServer(strict=not options.lax, port=options.port) as server:
        try:
            load(server, options.script)
        except (OSError, ValueError) as error:
            parser.error(str(error))
        if options.allow_unused:
            server.allow_unused()
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        done.wait()
    if options.log:
        _write_log(server, options.log)
    return _verdict(server)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.server", description=__doc__)
    parser.add_argument("--script", type=Path, required=True, help="replies as JSON lines")
    parser.add_argument("--port", type=int, default=0, help="by default a free one")
    parser.add_argument("--log", type=Path, help="where to write the requests, as JSON lines")
    parser.add_argument("--lax", action="store_true", help="do not check requests")
    parser.add_argument("--allow-unused", action="store_true", help="let replies be left")
    return parser


def _write_log(server: ScriptedServer, path: Path) -> None:
    lines = (json.dumps(request.body, ensure_ascii=False) for request in server.requests)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _verdict(server: ScriptedServer) -> int:
    try:
        server.verify()
    except AssertionError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
