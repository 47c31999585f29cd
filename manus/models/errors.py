"""What a failed model call means: whether it may pass, and a sentence for it.

Each client library raises the same facts in a shape of its own. OpenAI, Anthropic and Azure:
`status_code`, `response.headers`, `body`. Google: `code`, `details`. Bedrock (botocore): a
`response` dict with the error's name. LangChain may have wrapped any of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from manus.config.model_settings import ModelSettings
from manus.models.providers import DEFAULT_MODEL, address_of, key_of
from manus.state.errors import (
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from manus.state.text import one_line

_SHOWN = 300
_READ = 100_000
"""Characters of a server's words that are read."""
_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body)\b", re.IGNORECASE)
# What providers call an error, for where there is no status: in the middle of a stream, mostly.
_STATUS_OF = {
    name: status
    for status, names in {
        400: "invalid_request_error validationexception data_inspection_failed content_filter",
        401: "authentication_error",
        402: "billing_error servicequotaexceededexception",
        403: "permission_error accessdeniedexception unrecognizedclientexception "
        "invalidsignatureexception missingauthenticationtokenexception expiredtokenexception",
        404: "not_found_error resourcenotfoundexception",
        413: "request_too_large",
        429: "rate_limit_error throttlingexception toomanyrequestsexception",
        500: "api_error modelerrorexception modelstreamerrorexception internalserverexception",
        503: "modelnotreadyexception serviceunavailableexception",
        504: "timeout_error modeltimeoutexception",
        529: "overloaded_error",
    }.items()
    for name in names.split()
}
_PASSING = (408, 409, 425, 429)
_TRANSPORT = {"aiohttp", "anthropic", "botocore", "httpcore", "httpcore2", "httpx", "httpx2"}
_TRANSPORT |= {"groq", "ollama", "openai", "urllib3"}
"""Packages whose exceptions are about the connection, where there is no status."""
_NEVER_CONNECTED = {"ClientConnectorError", "ConnectError", "ConnectTimeout", "ConnectTimeoutError"}
_NEVER_CONNECTED |= {"ConnectionRefusedError", "EndpointConnectionError"}
_NO_ADDRESS = {"UnsupportedProtocol", "InvalidURL", "LocalProtocolError", "TooManyRedirects"}
_OF_AWS_TRANSPORT = {"ConnectionError", "HTTPClientError", "IncompleteReadError"}
_OF_AWS_TRANSPORT |= {"ResponseStreamingError"}
"""Of botocore's own errors those that may pass; the others are about how it was set up."""
_CREDENTIALS = re.compile("Credential|Token")
_OUT_OF_QUOTA = re.compile(r"insufficient_quota|billing|credit balance", re.IGNORECASE)
_TOO_LARGE = re.compile(
    r"context[_ ](?:length|size|window|limit)|maximum (?:context|model length|prompt length)"
    r"|(?:input|prompt) is too long|(?:input|prompt|model) token (?:count|limit)|too many tokens"
    r"|range of input length|n_keep.{0,20}n_ctx|reduce the length of the (?:messages|prompt|input)"
    r"|prompt (?:exceeds max|超长)",
    re.IGNORECASE,
)
_TOO_LARGE_FOR_RATE = re.compile(r"request too large|tokens must be reduced", re.IGNORECASE)


class NoChoicesError(Exception):
    """The server sent a complete reply in which `choices` is empty or missing."""

    def __init__(self) -> None:
        super().__init__("the reply has no choices in it")


class Facts:
    """What an exception tells, itself and those that it came from."""

    def __init__(self, error: BaseException) -> None:
        self.links: list[BaseException] = []
        current: BaseException | None = error
        while current is not None and current not in self.links:
            self.links.append(current)
            current = current.__cause__ or current.__context__
        self.kinds = {type(link).__name__ for link in self.links}
        self.cause = one_line(str(self.links[-1]), _SHOWN) or type(self.links[-1]).__name__

    @cached_property
    def status(self) -> int | None:
        """The HTTP status. Some servers send an error with 200, or in a stream: its name tells."""
        return next((found for link in self.links if (found := _status(link)) is not None), None)

    @cached_property
    def told(self) -> dict[str, Any]:
        """What the server says of the error in its own words (`message`, `code`, `details`, …)."""
        return next((found for link in self.links if (found := _told(link))), {})

    @cached_property
    def body(self) -> str:
        """The text of an answer that is no JSON object."""
        bodies = (getattr(link, "body", None) for link in self.links)
        return next((body for body in bodies if isinstance(body, str) and body.strip()), "")

    @cached_property
    def message(self) -> str:
        """The server's message, in whatever place it stands, else the error's own."""
        names = ("message", "Message", "detail", "error")
        found = next((self.told[name] for name in names if self.told.get(name)), "")
        text = found if isinstance(found, str) else json.dumps(found, default=str)
        behind = self.told.get("metadata")
        if text and isinstance(behind, dict) and isinstance(raw := behind.get("raw"), str):
            text = f"{text}: {raw}"  # OpenRouter's own does not say what the provider's was
        body = "it is a page in HTML" if _PAGE.match(self.body) else self.body
        return (text or body or str(self.links[0]) or type(self.links[0]).__name__)[:_READ]

    @cached_property
    def words(self) -> str:
        """What the server calls the error, and its message."""
        return f"{self.told.get('code')} {self.told.get('type')} {self.message}"

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """The headers of the answer, by names in lower case."""
        for link in self.links:
            response = getattr(link, "response", None)
            if isinstance(response, dict):
                headers: Any = (response.get("ResponseMetadata") or {}).get("HTTPHeaders")
            else:
                headers = getattr(response, "headers", None)
            if headers:
                return {str(name).lower(): str(value) for name, value in headers.items()}
        return {}

    @cached_property
    def is_of_transport(self) -> bool:
        """Whether it is about the connection."""
        return any(isinstance(link, OSError) or _home(link) in _TRANSPORT for link in self.links)


def _home(link: BaseException) -> str:
    """The package that an exception comes from."""
    return type(link).__module__.partition(".")[0]


def _status(link: BaseException) -> int | None:
    told = _told(link)
    response = getattr(link, "response", None)
    by_name = _STATUS_OF.get(str(told.get("Code") or told.get("type")).lower())
    if isinstance(response, dict):  # AWS sends one status for several errors
        found = [by_name, (response.get("ResponseMetadata") or {}).get("HTTPStatusCode")]
    else:
        sent = [getattr(link, "status_code", None), getattr(response, "status_code", None)]
        found = [*sent, getattr(link, "code", None), told.get("code"), by_name]
    return next((one for one in found if isinstance(one, int) and 300 <= one < 600), None)


def _told(link: BaseException) -> dict[str, Any]:
    for name in ("body", "details", "response", "args"):
        found = getattr(link, name, None)
        while isinstance(found, list | tuple) and found:
            found = found[0]
        if isinstance(found, dict):
            inner = found.get("error") or found.get("Error")
            return inner if isinstance(inner, dict) else found
    return {}


def _is_too_large(of: Facts) -> bool:
    """Whether a request is larger than what the model, or a proxy, takes."""
    if any(kind.endswith("ContextOverflowError") for kind in of.kinds) or of.status == 413:
        return True
    if of.status == 429:  # larger than what may be sent in a minute is not let through later either
        return bool(_TOO_LARGE_FOR_RATE.search(of.message))
    return of.status not in (401, 403, 404) and bool(_TOO_LARGE.search(of.words))


def _has_no_key(of: Facts) -> bool:
    of_aws = "".join(type(link).__name__ for link in of.links if _home(link) == "botocore")
    return bool(_CREDENTIALS.search(of_aws)) or "no api key" in of.message.lower()


def _is_key_refused(of: Facts) -> bool:
    """Google refuses a key as a bad request."""
    return of.status in (401, 403) or (of.status == 400 and "api key" in of.message.lower())


def _is_out_of_quota(of: Facts) -> bool:
    """Whether waiting will not help. Google says the same of a minute's quota and of a day's."""
    if of.status != 429:
        return of.status == 402
    if details := of.told.get("details"):
        return "PerDay" in str(details) or "retryDelay" not in str(details)
    return bool(_OUT_OF_QUOTA.search(of.words))


def _is_of_aws_set_up(of: Facts) -> bool:
    kinds = {kind.__name__ for kind in type(of.links[0]).__mro__}
    return _home(of.links[0]) == "botocore" and not kinds & _OF_AWS_TRANSPORT


def _is_final(of: Facts) -> bool:
    """Whether a status says so; a call of the model that Groq could not read may do better."""
    status = of.status or 500
    return status < 500 and status not in _PASSING and of.told.get("code") != "tool_use_failed"


R = ModelRefusedError
U = ModelUnavailableError
# The first that holds counts.
_RULES: tuple[tuple[Callable[[Facts], Any], type[ModelError], str], ...] = (
    (_is_too_large, ContextOverflowError, "The request is larger than the context window of "
     "`{model}`: {words}"),
    (_has_no_key, R, "{where} cannot be asked without a key; check {key}."),
    (_is_key_refused, R, "{where} refused the key{number}{because}; check {key}."),
    (lambda of: of.status == 404, R, "{where} does not know the model `{model}` or has no such "
     "address (404){because}; check MANUS_MODEL and MANUS_BASE_URL."),
    (_is_out_of_quota, R, "{where} says that the account has no credit left: {words}"),
    (lambda of: of.status == 429, U, "{where} limits the rate of requests (429): {words}"),
    (_is_final, R, "{where} refused the request{number}: {words}"),
    (lambda of: of.status, U, "{where} failed{number}: {words}"),
    (lambda of: of.kinds & _NO_ADDRESS, R, "{where} cannot be asked, since this is not an address "
     "({cause}); MANUS_BASE_URL must look like http://localhost:11434/v1."),
    (_is_of_aws_set_up, R, "{where} cannot be asked ({cause}); check MANUS_BASE_URL and the "
     "region."),
    (lambda of: "SSLCertVerificationError" in of.kinds, R, "{where} is not trusted: its "
     "certificate was not accepted ({cause}). If it is the right server, set SSL_CERT_FILE to a "
     "file with the certificates that are to be trusted, its authority's among them."),
    (lambda of: of.kinds & _NEVER_CONNECTED, U, "{where} cannot be reached ({cause}); check "
     "MANUS_BASE_URL and the network."),
    (lambda of: "NoChoicesError" in of.kinds, U, "{where} sent a reply with no choices in it; try "
     "again, or use another model."),
    (lambda of: "timeout" in str(of.kinds).lower(), U, "{where} said nothing for too long; set a "
     "longer MANUS_TIMEOUT if it is only slow."),
    (lambda of: of.told or of.body, U, "{where} answered with an error: {words}"),
    (lambda of: of.is_of_transport, U, "{where} broke the connection off: "
     "{cause}"),
    (lambda _: True, R, "{where} answered with something that is no chat reply ({words}); check "
     "MANUS_BASE_URL, which often ends in /v1."),
)  # fmt: skip


def explain(error: Exception, endpoint: ModelSettings) -> ModelError:
    """The error of ours that a provider's error means, with its sentence."""
    of = Facts(error)
    model = endpoint.model or DEFAULT_MODEL
    words = one_line(of.message, _SHOWN)
    kind, sentence = next((kind, sentence) for holds, kind, sentence in _RULES if holds(of))
    said = sentence.format(
        where=f"The model server at {address_of(endpoint)}",
        model=model,
        words=words,
        cause=of.cause,
        key=key_of(model),
        number="" if of.status is None else f" ({of.status})",
        because="" if words.startswith("Error code:") else f": {words.rstrip('.')}",
    )
    if kind is ContextOverflowError:
        return ContextOverflowError(said, (endpoint.base_url, endpoint.model))
    return kind(said)
