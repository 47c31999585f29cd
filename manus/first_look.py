"""A look at the model's server while the program loads: what is surely wrong is told at once.

Loading takes a second or two, and only then could the first request fail. Meanwhile a thread
connects, and asks whether the key and the model are known (`manus.inquiry`), which costs nothing.
Only what the run itself could not get past is told; of all else the run finds out by itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, urlsplit

from manus.inquiry import Inquiry, inquiry_of, is_about_key
from manus.models.model_names import DEFAULT_MODEL, address_of, shown_address
from manus.state.errors import ManusError, SettingsError
from manus.state.model_settings import ModelSettings

_TIMEOUT = 3.0
_LONGEST_WAIT = 0.3
"""Seconds that loading waits for a server that is near; for one that is not it does not wait."""
_MOMENT = 0.1
"""Seconds until a server that does not listen is tried once more, as the run would do it."""
_LARGEST = 100_000
_NO_SUCH_PATH = (404, 405, 501)
_NO_SUCH_HOST = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


class FirstLook:
    """What is known of the endpoint so far. Nothing, for one that cannot be looked at."""

    def __init__(self, endpoint: ModelSettings) -> None:
        self._endpoint = endpoint
        self._said: ManusError | None = None
        self._waits_no_more = threading.Event()

    def begin(self) -> None:
        """Look at the endpoint, in a thread that holds nobody.

        Where another endpoint can stand in, or a proxy stands before it, nothing is certain.

        Raises:
            SettingsError: its address is none.
        """
        inquiry = inquiry_of(self._endpoint, os.environ)
        if inquiry is None or self._endpoint.fallback:
            self._waits_no_more.set()
            return
        address = split_address(inquiry.address)
        # a name with a password, or a query, is for the client to make of it what it does
        if "@" in address.netloc or address.query or _is_behind_proxy(address):
            self._waits_no_more.set()
            return
        threading.Thread(target=self._look, args=(address, inquiry), daemon=True).start()

    def tell(self, wait: float = _LONGEST_WAIT) -> None:
        """Raise what was found to be wrong, waiting some seconds for it if the server is near.

        Raises:
            ModelError: the server cannot be reached, or refuses the key or the model.
        """
        self._waits_no_more.wait(wait)
        if self._said is not None:
            raise self._said

    def _look(self, address: SplitResult, inquiry: Inquiry) -> None:
        from manus.models.errors import explain

        try:
            if not is_near(address):
                self._waits_no_more.set()
            with contextlib.closing(_connected(address)) as connection:
                _ask(connection, address, inquiry)
        except (ConnectError, _RefusedError) as error:
            model = self._endpoint.model or DEFAULT_MODEL
            self._said = explain(error, model=model, address=address_of(self._endpoint))
        except (OSError, HTTPException, ValueError):
            pass  # the run will find out what this means, with its own client
        finally:
            self._waits_no_more.set()


class ConnectError(OSError):
    """No connection came about, and none will: named as the clients of the run name it."""


class _RefusedError(Exception):
    """The server's answer, in the shape that `manus.models.errors` reads."""

    def __init__(self, status: int, told: dict[str, Any]) -> None:
        super().__init__(f"Error code: {status}")
        self.status_code = status
        self.body = {"error": told}


def split_address(text: str) -> SplitResult:
    """The parts of a server's address.

    Raises:
        SettingsError: it is none.
    """
    try:
        address = urlsplit(text)
        is_one = address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError:
        is_one = False
    if not is_one:
        raise SettingsError(
            f"The model server at {shown_address(text)} cannot be asked, since this is not an "
            "address; MANUS_BASE_URL must look like http://localhost:11434/v1."
        )
    return address


def is_near(address: SplitResult) -> bool:
    """Whether the server is on this machine or in its network, where answers take no time.

    Raises:
        ConnectError: there is no such host.
    """
    try:
        found = socket.getaddrinfo(address.hostname, address.port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in _NO_SUCH_HOST:
            raise ConnectError from error
        raise
    return all(ip_address(str(one[4][0]).partition("%")[0]).is_private for one in found)


def _is_behind_proxy(address: SplitResult) -> bool:
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    return bool(proxy) and not proxy_bypass(address.hostname or "")


def _connected(address: SplitResult) -> HTTPConnection:
    try:
        return _connect(address)
    except ConnectionRefusedError:
        time.sleep(_MOMENT)
    try:
        return _connect(address)
    except ConnectionRefusedError as error:
        raise ConnectError from error


def _connect(address: SplitResult) -> HTTPConnection:
    kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
    connection = kind(address.hostname or "", address.port, timeout=_TIMEOUT)
    connection.connect()
    return connection


def _ask(connection: HTTPConnection, address: SplitResult, inquiry: Inquiry) -> None:
    """Ask for the model by its name, or for the list of models where that cannot be asked.

    A server, or a gateway before it, may keep these from a key that may chat, may lack them, and
    may know fewer names there than for chat. So what they refuse is asked of the path of chat too,
    in a request that lacks its messages and is never worked on; of names a clear word is believed.
    """

    def asked(method: str, path: str, body: str | None = None) -> tuple[int, dict[str, Any]]:
        fields = {**inquiry.fields, "Content-Type": "application/json"}
        connection.request(method, f"{address.path.rstrip('/')}{path}", body, fields)
        return _answer(connection)

    status, told = asked("GET", inquiry.model)
    if inquiry.is_unknown(status, told):
        raise _RefusedError(status, told)
    if status in _NO_SUCH_PATH and inquiry.models != inquiry.model:
        status, told = asked("GET", inquiry.models)
    if is_about_key(status, told) or status in (403, *_NO_SUCH_PATH):
        status, told = asked("POST", inquiry.chat, json.dumps(inquiry.incomplete))
        if status == 404 or is_about_key(status, told):
            raise _RefusedError(status, told)


def _answer(connection: HTTPConnection) -> tuple[int, dict[str, Any]]:
    """The status, and the error that is told of."""
    answer = connection.getresponse()
    try:
        body = json.loads(answer.read(_LARGEST))
    except ValueError:
        return answer.status, {}
    told = body.get("error") if isinstance(body, dict) else None
    return answer.status, told if isinstance(told, dict) else {}
