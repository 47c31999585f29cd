"""What a failed model call means: whether it may pass, and a sentence for it.

Each client library raises the same facts in a shape of its own. OpenAI, Anthropic and Azure:
`status_code`, `response.headers`, `body`. Google: `code`, `details`. Bedrock (botocore): a
`response` dict with the error's name. LangChain may have wrapped any of them.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from manus.models.providers import KEYS
from manus.state.errors import (
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from manus.state.model_settings import provider_of
from manus.state.text import one_line

_SHOWN = 300
_READ = 100_000
"""Characters of a server's words that are read."""
_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body)\b", re.IGNORECASE)
_TAG = re.compile(r"<(script|style)\b.*?(?:</\1>|\Z)|<[^<>]*>", re.IGNORECASE | re.DOTALL)
# What providers call an error, for where there is no status: in the middle of a stream, mostly.
_STATUS_OF = {
    name: status
    for status, names in {
        400: "invalid_request_error validationexception",
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
_TRANSPORT |= {"openai", "urllib3"}
"""Packages whose exceptions are about the connection, where there is no status."""
NEVER_CONNECTED = {"ClientConnectorError", "ConnectError", "ConnectTimeout", "ConnectTimeoutError"}
NEVER_CONNECTED |= {"ConnectionRefusedError", "EndpointConnectionError"}
_NO_ADDRESS = {"UnsupportedProtocol", "InvalidURL", "LocalProtocolError"}
_NO_KEY = {"CredentialRetrievalError", "NoAuthTokenError", "NoCredentialsError"}
_NO_KEY |= {"PartialCredentialsError", "SSOTokenLoadError", "TokenRetrievalError"}
_NO_KEY |= {"UnauthorizedSSOTokenError"}
_OF_AWS_TRANSPORT = {"ConnectionError", "HTTPClientError", "IncompleteReadError"}
_OF_AWS_TRANSPORT |= {"ResponseStreamingError"}
"""Of botocore's own errors those that may pass; the others are about how it was set up."""
_FLAGGED = re.compile(
    r"flagged|moderation|content (?:management )?(?:policy|filter)|inappropriate content"
    r"|\b(?:content_filter|content_policy_violation|data_inspection_failed)\b",
    re.IGNORECASE,
)
_OUT_OF_QUOTA = re.compile(r"insufficient_quota|billing|credit balance", re.IGNORECASE)
_TOO_LARGE = re.compile(
    r"context[_ ](?:length|size|window|limit)|maximum (?:context|model length|prompt length)"
    r"|too many tokens|input is too long|input token count|prompt is too long|prompt too long"
    r"|model token limit|range of input length|prompt exceeds max|max_new_tokens. must be"
    r"|(?:input|prompt) length .{0,40}exceeds|reduce the length of the (?:messages|prompt|input)"
    r"|(?:input|prompt) tokens? (?:exceed|too long)|maximum input tokens|max message tokens"
    r"|inputs. must have less than|contextwindowexceeded|n_keep.{0,20}n_ctx|length of messages must"
    r"|(?:prompt|messages|输入|上下文)\s*(?:长度)?(?:超长|过长|超过)|expected maxlength",
    re.IGNORECASE,
)
_REPLY_TOO_LARGE = re.compile(
    r"max_(?:completion_)?tokens\W.{0,30}is too large(?::\s*(\d+).*?context length is (\d+))?",
    re.IGNORECASE,
)
_TOO_LARGE_FOR_RATE = re.compile(r"request too large|tokens must be reduced", re.IGNORECASE)


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
    def name(self) -> str:
        """What the server calls the error."""
        return f"{self.told.get('code')} {self.told.get('type')}"

    @cached_property
    def body(self) -> str:
        """The text of an answer that is no JSON object."""
        bodies = (getattr(link, "body", None) for link in self.links)
        return next((body for body in bodies if isinstance(body, str) and body.strip()), "")

    @cached_property
    def is_page(self) -> bool:
        """Whether the answer is HTML, which comes from a proxy and not from a model server."""
        return bool(_PAGE.match(self.body))

    @cached_property
    def message(self) -> str:
        """The server's message, in whatever place it stands, else the error's own."""
        names = ("message", "Message", "detail", "error")
        found = next((self.told[name] for name in names if self.told.get(name)), "")
        text = found if isinstance(found, str) else json.dumps(found, default=str)
        behind = self.told.get("metadata")
        if text and isinstance(behind, dict) and isinstance(raw := behind.get("raw"), str):
            text = f"{text}: {raw}"  # OpenRouter's own does not say what the provider's was
        body = self.body
        if self.is_page:
            body = html.unescape(_TAG.sub(" ", body[:_READ]))
        return (text or body or str(self.links[0]) or type(self.links[0]).__name__)[:_READ]

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
        return any(
            isinstance(link, OSError) or type(link).__module__.split(".")[0] in _TRANSPORT
            for link in self.links
        )


def _status(link: BaseException) -> int | None:
    by_name = _STATUS_OF.get(str(_told(link).get("Code") or _told(link).get("type")).lower())
    if by_name is not None and isinstance(getattr(link, "response", None), dict):
        return by_name  # AWS sends one status for several errors
    found = (value for value in _statuses(link) if isinstance(value, int) and 400 <= value < 600)
    return next(found, by_name)


def _statuses(link: BaseException) -> Iterator[Any]:
    response = getattr(link, "response", None)
    if isinstance(response, dict):
        yield (response.get("ResponseMetadata") or {}).get("HTTPStatusCode")
    yield getattr(link, "status_code", None)
    yield getattr(response, "status_code", None)
    yield getattr(link, "code", None)
    yield _told(link).get("code")


def _told(link: BaseException) -> dict[str, Any]:
    for name in ("body", "details", "response", "args"):
        found = getattr(link, name, None)
        if isinstance(found, list | tuple) and found and (name == "args" or len(found) == 1):
            found = found[0]
        if isinstance(found, list) and len(found) == 1:
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
    if of.status in (401, 403, 404) or not _TOO_LARGE.search(f"{of.name} {of.message}"):
        return False
    found = _REPLY_TOO_LARGE.search(of.message)  # the reply that is asked for, by itself?
    return found is None or (found[1] is not None and int(found[1]) < int(found[2]))


def _has_no_key(of: Facts) -> bool:
    return bool(of.kinds & _NO_KEY) or "no api key" in of.message.lower()


def _is_key_refused(of: Facts) -> bool:
    """Google refuses a key as a bad request."""
    return of.status in (401, 403) or (of.status == 400 and "api key" in of.message.lower())


def _is_out_of_quota(of: Facts) -> bool:
    """Whether waiting will not help. Google says the same of a minute's quota and of a day's."""
    if of.status != 429:
        return of.status == 402
    if details := of.told.get("details"):
        return "PerDay" in str(details) or "retryDelay" not in str(details)
    return bool(_OUT_OF_QUOTA.search(f"{of.name} {of.message}"))


def _is_flagged(of: Facts) -> bool:
    return of.status in (None, 403) and bool(_FLAGGED.search(f"{of.name} {of.message}"))


def _is_of_aws_set_up(of: Facts) -> bool:
    kinds = type(of.links[0]).__mro__
    known = any(kind.__name__ in _OF_AWS_TRANSPORT for kind in kinds)
    return not known and any(kind.__module__.startswith("botocore.") for kind in kinds)


def _is_redirect(of: Facts) -> bool:
    responses = (getattr(link, "response", None) for link in of.links)
    statuses = (getattr(response, "status_code", None) or 0 for response in responses)
    return "TooManyRedirects" in of.kinds or any(300 <= status < 400 for status in statuses)


def _is_final(of: Facts) -> bool:
    """Whether a status says so; a call of the model that Groq could not read may do better."""
    status = of.status or 500
    return status < 500 and status not in _PASSING and of.told.get("code") != "tool_use_failed"


R, U = ModelRefusedError, ModelUnavailableError
# The first that holds counts.
_RULES: tuple[tuple[Callable[[Facts], Any], type[ModelError], str], ...] = (
    (_is_too_large, ContextOverflowError, "The request is larger than the context window of "
     "`{model}`: {words}"),
    (_has_no_key, R, "{where} cannot be asked without a key; check {key}."),
    (_is_flagged, R, "{where} refused the request{number}: {words}"),
    (lambda of: of.status == 403 and of.is_page, R, "{where} cannot be asked: a page came back "
     "(403){because}; check whether a proxy or a firewall stands between, and {key}."),
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
    (_is_redirect, R, "{where} sends the request elsewhere, and that leads to no server; check "
     "MANUS_BASE_URL."),
    (lambda of: "SSLCertVerificationError" in of.kinds, R, "{where} is not trusted: its "
     "certificate was not accepted ({cause}). If it is the right server, set SSL_CERT_FILE to a "
     "file with the certificates that are to be trusted, its authority's among them."),
    (lambda of: of.kinds & NEVER_CONNECTED, U, "{where} cannot be reached ({cause}); check "
     "MANUS_BASE_URL and the network."),
    (lambda of: "timeout" in str(of.kinds).lower(), U, "{where} said nothing for too long; set a "
     "longer MANUS_TIMEOUT if it is only slow."),
    (lambda of: of.told, U, "{where} answered with an error: {words}"),
    (lambda of: of.is_of_transport and not of.body, U, "{where} broke the connection off: "
     "{cause}"),
    (lambda _: True, R, "{where} answered with something that is no chat reply ({words}); check "
     "MANUS_BASE_URL, which often ends in /v1."),
)  # fmt: skip


def explain(error: Exception, *, model: str, address: str) -> ModelError:
    """The error of ours that a provider's error means, with its sentence."""
    if isinstance(error, ModelError):
        return error
    of = Facts(error)
    words = one_line(of.message, _SHOWN)
    kind, sentence = next((kind, sentence) for holds, kind, sentence in _RULES if holds(of))
    said = sentence.format(
        where=f"The model server at {address}",
        model=model,
        words=words,
        cause=of.cause,
        key=KEYS[provider_of(model)],
        number="" if of.status is None else f" ({of.status})",
        because="" if words.startswith("Error code:") else f": {words.rstrip('.')}",
    )
    return ContextOverflowError(said, model) if kind is ContextOverflowError else kind(said)
