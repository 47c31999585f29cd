"""An internet of its own: a proxy behind the run's own one, at which every host can be asked."""

import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


@dataclass
class Page:
    body: str | bytes = ""
    status: int = 200
    type: str = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()


class Internet:
    """Answers for `pages`, by `host/path`; counts what arrives anywhere."""

    def __init__(self) -> None:
        self.pages: dict[str, Page | str] = {}
        self.arrived: list[str] = []
        internet = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                internet._serve(self)

            do_POST = do_GET  # noqa: N815

            def do_CONNECT(self) -> None:
                internet.arrived.append(f"{self.path}")
                self.send_error(502)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def proxy(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def at(self, host: str) -> list[str]:
        """What has arrived at a host, or at one below it."""
        return [what for what in self.arrived if str(urlsplit(f"//{what}").hostname).endswith(host)]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        said = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        place = handler.path.removeprefix("http://")
        self.arrived.append(f"{place} {said.decode()}".strip())
        page = self.pages.get(place.partition("?")[0], Page("not here", 404))
        page = page if isinstance(page, Page) else Page(page)
        data = page.body.encode() if isinstance(page.body, str) else page.body
        handler.send_response(page.status)
        handler.send_header("Content-Type", page.type)
        for name, value in page.headers:
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)
