"""Explain failed model calls: whether a failure is transient, and a sentence for the user.

Each client library raises the same facts in its own shape. OpenAI, Anthropic and Azure:
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
from manus.models.providers import DEFAULT_MODEL, get_address, name_key_variables
from manus.state.errors import (
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from manus.state.text import one_line

_MESSAGE_LIMIT = 300
"""Characters of a server's message that a user sees."""
_READ_LIMIT = 100_000
"""Characters of a server's message that are read."""
_HTML_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body)\b", re.IGNORECASE)
# Providers' error names by status, for errors without a status, usually in the middle of a stream.
_ERROR_NAMES = {
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
}
_STATUS_BY_NAME = {name: status for status, names in _ERROR_NAMES.items() for name in names.split()}
_TRANSIENT_STATUSES = (408, 409, 425, 429)
_TRANSPORT = {"aiohttp", "anthropic", "botocore", "httpcore", "httpcore2", "httpx", "httpx2"}
_TRANSPORT |= {"groq", "ollama", "openai", "urllib3"}
"""Packages whose exceptions concern the connection if they have no status."""
_NEVER_CONNECTED = {"ClientConnectorError", "ConnectError", "ConnectTimeout", "ConnectTimeoutError"}
_NEVER_CONNECTED |= {"ConnectionRefusedError", "EndpointConnectionError"}
_BAD_ADDRESS = {"UnsupportedProtocol", "InvalidURL", "LocalProtocolError", "TooManyRedirects"}
_AWS_TRANSPORT = {"ConnectionError", "HTTPClientError", "IncompleteReadError"}
_AWS_TRANSPORT |= {"ResponseStreamingError"}
"""Transient errors of botocore; its other own errors concern the configuration."""
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
    """A complete reply in which `choices` is empty or missing."""

    def __init__(self) -> None:
        super().__init__("the reply contains no choices")


class ErrorFacts:
    """Facts read from an exception and from the exceptions that caused it."""

    def __init__(self, error: BaseException) -> None:
        self.chain: list[BaseException] = []
        current: BaseException | None = error
        while current is not None and current not in self.chain:
            self.chain.append(current)
            current = current.__cause__ or current.__context__
        self.class_names = {type(link).__name__ for link in self.chain}
        root = self.chain[-1]
        self.cause = one_line(str(root), _MESSAGE_LIMIT) or type(root).__name__

    @cached_property
    def status(self) -> int | None:
        """Return the HTTP status, or the status for an error name sent with 200 or in a stream."""
        for link in self.chain:
            status = _read_status(link)
            if status is not None:
                return status
        return None

    @cached_property
    def details(self) -> dict[str, Any]:
        """Return the server's description of the error (`message`, `code`, `details`, …)."""
        for link in self.chain:
            details = _get_details(link)
            if details:
                return details
        return {}

    @cached_property
    def body(self) -> str:
        """Return the text of a response that is not a JSON object."""
        for link in self.chain:
            body = getattr(link, "body", None)
            if isinstance(body, str) and body.strip():
                return body
        return ""

    @cached_property
    def message(self) -> str:
        """Return the server's message, wherever the response has it, or the exception's own."""
        text = self._message_in_details()
        metadata = self.details.get("metadata")
        if text and isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):
            # OpenRouter's own message does not repeat the provider's
            text = f"{text}: {metadata['raw']}"
        if not text:
            text = "it is an HTML page" if _HTML_PAGE.match(self.body) else self.body
        text = text or str(self.chain[0]) or type(self.chain[0]).__name__
        return text[:_READ_LIMIT]

    def _message_in_details(self) -> str:
        for name in ("message", "Message", "detail", "error"):
            value = self.details.get(name)
            if value:
                return value if isinstance(value, str) else json.dumps(value, default=str)
        return ""

    @cached_property
    def summary(self) -> str:
        """Return the code, type and message of the server's error as one searchable text."""
        return f"{self.details.get('code')} {self.details.get('type')} {self.message}"

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """Return the headers of the response, with lower-case names."""
        for link in self.chain:
            response = getattr(link, "response", None)
            if isinstance(response, dict):
                headers: Any = (response.get("ResponseMetadata") or {}).get("HTTPHeaders")
            else:
                headers = getattr(response, "headers", None)
            if headers:
                return {str(name).lower(): str(value) for name, value in headers.items()}
        return {}

    @cached_property
    def is_transport_error(self) -> bool:
        """Return whether the error concerns the connection."""
        return any(
            isinstance(link, OSError) or _get_package(link) in _TRANSPORT for link in self.chain
        )


def _get_package(link: BaseException) -> str:
    """Return the name of the package that defines an exception."""
    return type(link).__module__.partition(".")[0]


def _read_status(link: BaseException) -> int | None:
    details = _get_details(link)
    response = getattr(link, "response", None)
    status_by_name = _STATUS_BY_NAME.get(str(details.get("Code") or details.get("type")).lower())
    if isinstance(response, dict):  # AWS sends one status for several errors
        metadata = response.get("ResponseMetadata") or {}
        candidates = [status_by_name, metadata.get("HTTPStatusCode")]
    else:
        candidates = [
            getattr(link, "status_code", None),
            getattr(response, "status_code", None),
            getattr(link, "code", None),
            details.get("code"),
            status_by_name,
        ]
    for candidate in candidates:
        if isinstance(candidate, int) and 300 <= candidate < 600:
            return candidate
    return None


def _get_details(link: BaseException) -> dict[str, Any]:
    for name in ("body", "details", "response", "args"):
        value = getattr(link, name, None)
        while isinstance(value, list | tuple) and value:
            value = value[0]
        if isinstance(value, dict):
            inner = value.get("error") or value.get("Error")
            return inner if isinstance(inner, dict) else value
    return {}


def _is_too_large(facts: ErrorFacts) -> bool:
    """Return whether a request exceeds what the model, or a proxy, accepts."""
    is_overflow = any(name.endswith("ContextOverflowError") for name in facts.class_names)
    if is_overflow or facts.status == 413:
        return True
    if facts.status == 429:  # a request larger than the per-minute limit never succeeds
        return bool(_TOO_LARGE_FOR_RATE.search(facts.message))
    return facts.status not in (401, 403, 404) and bool(_TOO_LARGE.search(facts.summary))


def _has_no_key(facts: ErrorFacts) -> bool:
    for link in facts.chain:
        if _get_package(link) == "botocore" and _CREDENTIALS.search(type(link).__name__):
            return True
    return "no api key" in facts.message.lower()


def _is_key_refused(facts: ErrorFacts) -> bool:
    """Return whether the key was refused; Google returns 400 for it."""
    if facts.status in (401, 403):
        return True
    return facts.status == 400 and "api key" in facts.message.lower()


def _is_out_of_quota(facts: ErrorFacts) -> bool:
    """Return whether waiting does not help; Google reports minute and day quotas alike."""
    if facts.status != 429:
        return facts.status == 402
    details = facts.details.get("details")
    if details:
        return "PerDay" in str(details) or "retryDelay" not in str(details)
    return bool(_OUT_OF_QUOTA.search(facts.summary))


def _is_aws_configuration(facts: ErrorFacts) -> bool:
    error = facts.chain[0]
    base_names = {base.__name__ for base in type(error).__mro__}
    return _get_package(error) == "botocore" and not base_names & _AWS_TRANSPORT


def _is_final(facts: ErrorFacts) -> bool:
    """Return whether a status is permanent; on Groq, a second attempt may yield a valid call."""
    status = facts.status or 500
    if status >= 500 or status in _TRANSIENT_STATUSES:
        return False
    return facts.details.get("code") != "tool_use_failed"


R = ModelRefusedError
U = ModelUnavailableError
# The first rule that matches applies.
_RULES: tuple[tuple[Callable[[ErrorFacts], Any], type[ModelError], str], ...] = (
    (_is_too_large, ContextOverflowError, "The request is larger than the context window of "
     "`{model}`: {message}"),
    (_has_no_key, R, "{server} requires an API key; check {key}."),
    (_is_key_refused, R, "{server} refused the key{number}{because}; check {key}."),
    (lambda facts: facts.status == 404, R, "{server} does not have the model `{model}`, or the "
     "address is wrong (404){because}; check MANUS_MODEL and MANUS_BASE_URL."),
    (_is_out_of_quota, R, "{server} reports that the account has no credit left: {message}"),
    (lambda facts: facts.status == 429, U, "{server}: rate limit exceeded (429): {message}"),
    (_is_final, R, "{server} refused the request{number}: {message}"),
    (lambda facts: facts.status, U, "{server} failed{number}: {message}"),
    (lambda facts: facts.class_names & _BAD_ADDRESS, R, "{server} cannot be called: the "
     "address is not valid ({cause}); MANUS_BASE_URL must look like http://localhost:11434/v1."),
    (_is_aws_configuration, R, "{server} cannot be called ({cause}); check MANUS_BASE_URL and the "
     "region."),
    (lambda facts: "SSLCertVerificationError" in facts.class_names, R, "{server} is not trusted: "
     "its TLS certificate cannot be verified ({cause}). If it is the right server, set "
     "SSL_CERT_FILE to a file with all trusted certificates, including that of its authority."),
    (lambda facts: facts.class_names & _NEVER_CONNECTED, U, "{server} cannot be reached ({cause}); "
     "check MANUS_BASE_URL and the network."),
    (lambda facts: "NoChoicesError" in facts.class_names, U, "{server} sent a reply "
     "without choices; try again, or use another model."),
    (lambda facts: "timeout" in str(facts.class_names).lower(), U, "{server} timed out; if it is "
     "only slow, increase MANUS_TIMEOUT."),
    (lambda facts: facts.details or facts.body, U, "{server} returned an error: {message}"),
    (lambda facts: facts.is_transport_error, U, "{server} closed the connection: {cause}"),
    (lambda _: True, R, "{server} did not send a chat reply ({message}); check MANUS_BASE_URL, "
     "which often ends in /v1."),
)  # fmt: skip


def explain(error: Exception, endpoint: ModelSettings) -> ModelError:
    """Return the `ModelError` for a provider's exception, with a sentence for the user."""
    facts = ErrorFacts(error)
    model = endpoint.model or DEFAULT_MODEL
    message = one_line(facts.message, _MESSAGE_LIMIT)
    error_class, template = _find_rule(facts)
    sentence = template.format(
        server=f"The model server at {get_address(endpoint)}",
        model=model,
        message=message,
        cause=facts.cause,
        key=name_key_variables(model),
        number="" if facts.status is None else f" ({facts.status})",
        because="" if message.startswith("Error code:") else f": {message.rstrip('.')}",
    )
    if error_class is ContextOverflowError:
        return ContextOverflowError(sentence, (endpoint.base_url, endpoint.model))
    return error_class(sentence)


def _find_rule(facts: ErrorFacts) -> tuple[type[ModelError], str]:
    for matches, error_class, template in _RULES:
        if matches(facts):
            return error_class, template
    raise AssertionError("the last rule matches every error")
