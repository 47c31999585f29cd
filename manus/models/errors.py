"""Explain failed model calls: whether a failure is transient, and a sentence for the user.

Each client library raises the same facts in its own shape: most `status_code`,
`response.headers`, `body`; others `code`, `details`; others a `response` dict with the error's
name. LangChain may have wrapped any of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from manus.config.model_settings import ModelSettings
from manus.config.provider_table import CLIENTS, DEFAULT_MODEL
from manus.models.providers import get_address, name_key_variables
from manus.state.errors import (
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from manus.state.text import one_line

_MESSAGE_LIMIT = 300
"""Characters of a server's message that a user sees."""
_WORDS_LIMIT = 2_000
"""Characters of it in which words are searched."""
_MIN_OUTPUT = 500
"""Tokens: with a smaller limit of the reply, the request is compacted instead."""
_MIN_INPUT = 500
"""Tokens: a smaller number in a message is not taken for the size of a request."""
_OUTPUT = re.compile(
    r"max_\w*tokens|completion|output tokens|maximum tokens you requested|\bnum_predict",
    re.IGNORECASE,
)
_INPUT = re.compile(
    r"(\d[\d,]*) (?:tokens? )?(?:`?inputs?\b|prompt|(?:in|from|of) (?:the |your )?(?:text |tool )?"
    r"(?:messages?|input|prompt))",
    re.IGNORECASE,
)
"""The size of the input, as a refusal names it."""
_AT_LEAST = re.compile(r"at least \d", re.IGNORECASE)
"""A server that stops counting at the end of its window does not know the size of the input."""
_READ_LIMIT = 100_000
"""Characters of a server's message that are read."""
_HTML_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body)\b", re.IGNORECASE)
# Status by words in the name of an error, for errors without a status, usually in a stream.
_STATUS_BY_WORDS = {
    402: "billing|arrear|insufficient.?(?:balance|quota|credit)|servicequota",
    413: "too.?large",
    429: "rate.?limit|throttl|too.?many|exhausted",
    404: "not.?found",
    401: "authentication|unauthenticated|unauthorized|api.?key",
    403: "permission|access.?denied|unrecognizedclient|signature|token|forbidden",
    529: "overload",
    504: "timeout|deadline",
    503: "not.?ready|unavailable",
    400: "invalid|validation|inspection|content_filter|bad.?request|unsupported",
    500: "api_error|model.*error|internal|server.?error",
}
_TRANSIENT_STATUSES = (408, 409, 425, 429)
_NEVER_CONNECTED = {"ClientConnectorError", "ConnectError", "ConnectTimeout", "ConnectTimeoutError"}
_NEVER_CONNECTED |= {"ConnectionRefusedError", "EndpointConnectionError"}
_BAD_ADDRESS = {"UnsupportedProtocol", "InvalidURL", "LocalProtocolError", "TooManyRedirects"}
_CREDENTIALS = re.compile("Credential|Token")
_OUT_OF_CREDIT = re.compile(
    r"insufficient.{0,12}(?:quota|balance|credit|fund)|billing|\bcredits?\b|balance|arrear|overdue"
    r"|payment|recharge|top.?up|free.?tier.{0,30}exhaust"
    r"|spend(?:ing)? (?:limit|cap)|余额|欠费|额度|充值",
    re.IGNORECASE,
)
_RATE_LIMITED = re.compile(
    r"(?:try again|retry) in|rate.?limit|per.?(?:min|second|hour)|\b[rt]p[ms]\b"
    r"|too many requests|throttl",
    re.IGNORECASE,
)
_OVERFLOW_CODE = re.compile(
    r"context.?(?:length|window|size|exceed)|(?:request|prompt|input|payload|content).?too.?(?:large|long)"
    r"|max.?(?:model.?)?prompt.?tokens|tokens.?limit",
    re.IGNORECASE,
)
_CONTEXT = r"context.{0,3}(?:length|size|window|limit|budget)|n_ctx|上下文"
_CONTENT = (
    rf"{_CONTEXT}|tokens?(?![a-z])|prompt|inputs?\b|conversation|messages\b|request|sequence|输入"
    r"|text\b|characters"
)
_EXCESS = (
    r"exceed|too (?:long|large|many|big)|(?:longer|greater|larger|more|bigger) than|overflow|beyond"
    r"|\d tokens,? but|over the (?:limit|max)|(?:max\w*|limit|at most|up to)\b.{0,40}\d[\d,]{3}"
    r"|range of|reduc"
    r"|must (?:be|have) (?:less|at most|<)|does(?: not|n't) fit|shorten|超|过长|>=? ?(?:\d|n_)"
)
_TOO_LARGE = re.compile(
    rf"(?:{_CONTENT}).{{0,120}}?(?:{_EXCESS})|(?:{_EXCESS}).{{0,80}}?(?:{_CONTENT})"
    rf"|\bmax(?:imum)? .{{0,20}}(?:{_CONTENT})",
    re.IGNORECASE | re.DOTALL,
)
_IN_CONTEXT = re.compile(_CONTEXT, re.IGNORECASE)
_OTHER_LIMIT = re.compile(
    r"description|\bids?\b|[._]name|\bname\b|schema|enum|tools?\b|function"
    r"|image (?:exceed|size|dim)|temperature|top_|penalty|logprob|\bparameter|cache_control"
    r"|per.?(?:min|day|second)",
    re.IGNORECASE,
)
"""Subjects of limits other than that of the whole input."""
_TOO_LARGE_FOR_RATE = re.compile(r"request too large|tokens must be reduced", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?![\w-]|\.\d)")


class ReplyFaultError(Exception):
    """A complete reply that is none: without choices, or ended by a reason that means no end."""


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
    def code(self) -> str:
        """Return the code and the type of the server's error as one searchable text."""
        return f"{self.details.get('code')} {self.details.get('type')}"

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
            isinstance(link, OSError) or _get_package(link) in CLIENTS for link in self.chain
        )


def _get_package(link: BaseException) -> str:
    """Return the name of the package that defines an exception."""
    return type(link).__module__.partition(".")[0]


def _read_status(link: BaseException) -> int | None:
    details = _get_details(link)
    response = getattr(link, "response", None)
    names = " ".join(str(details.get(key) or "") for key in ("Code", "code", "type", "status"))
    status_by_name = None
    for status, words in _STATUS_BY_WORDS.items():
        if re.search(words, names, re.IGNORECASE):
            status_by_name = status
            break
    if isinstance(response, dict):  # AWS sends one status for several errors
        metadata = response.get("ResponseMetadata") or {}
        candidates = [status_by_name, metadata.get("HTTPStatusCode")]
    else:
        code = str(details.get("code"))
        candidates = [
            getattr(link, "status_code", None),
            getattr(response, "status_code", None),
            getattr(link, "code", None),
            int(code) if code.isdecimal() else None,
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


def is_too_large(facts: ErrorFacts) -> bool:
    """Return whether a request exceeds what the model, or a proxy, accepts: by code, or by words.

    Words are read as a content (tokens, prompt, …) near an excess (exceeds, too long, …), and not
    as the limit of a part or of a parameter, unless they name the context.
    """
    is_overflow = any(name.endswith("ContextOverflowError") for name in facts.class_names)
    if is_overflow or facts.status == 413:
        return True
    if facts.status == 429:  # a request larger than the per-minute limit never succeeds
        return bool(_TOO_LARGE_FOR_RATE.search(facts.message))
    if facts.status in (401, 402, 403, 404):
        return False
    if _OVERFLOW_CODE.search(facts.code):
        return True
    message = facts.message[:_WORDS_LIMIT]
    if not _TOO_LARGE.search(message):
        return False
    return bool(_IN_CONTEXT.search(message)) or not _OTHER_LIMIT.search(message)


def find_lower_limit(text: str, max_tokens: int) -> int | None:
    """Return the `max_tokens` that a server which refused a larger one accepts; None if unknown.

    That is the rest of the window if the text names the window and the input, otherwise the largest
    number in it that is smaller. If the text does not repeat the number that was sent, only one
    number may be meant.
    """
    text = text[:_WORDS_LIMIT]
    if not _OUTPUT.search(text) or _AT_LEAST.search(text):
        return None
    numbers = {int(number.replace(",", "")) for number in _NUMBER.findall(text)}
    inputs = {int(number.replace(",", "")) for number in _INPUT.findall(text)} & numbers
    totals = {size + number for size in inputs for number in numbers} & numbers
    is_repeated = max_tokens in numbers
    numbers -= {max_tokens, *totals}
    rests = {
        window - size
        for window in numbers
        for size in inputs or (numbers if is_repeated else ())
        if size >= _MIN_INPUT and size < window < size + max_tokens
    }
    limits = rests
    if not _IN_CONTEXT.search(text):
        limits = rests or {number for number in numbers if _MIN_OUTPUT <= number < max_tokens}
    if not limits or not (is_repeated or len(limits) == 1):
        return None
    limit = max(limits)
    return limit if _MIN_OUTPUT <= limit < max_tokens else None


def _has_no_key(facts: ErrorFacts) -> bool:
    for link in facts.chain:
        if CLIENTS.get(_get_package(link)) and _CREDENTIALS.search(type(link).__name__):
            return True
    return "no api key" in facts.message.lower()


def _is_key_refused(facts: ErrorFacts) -> bool:
    """Return whether the key was refused; Google returns 400 for it."""
    if facts.status in (401, 403):
        return True
    return facts.status == 400 and "api key" in facts.message.lower()


def _is_out_of_credit(facts: ErrorFacts) -> bool:
    """Return whether waiting does not help; Google reports minute and day quotas alike."""
    if facts.status == 402:
        return True
    details = facts.details.get("details")
    if facts.status == 429 and details:
        return "PerDay" in str(details) or "retryDelay" not in str(details)
    if _OUT_OF_CREDIT.search(facts.code):
        return True
    statuses = (400, 401, 403, 429, 500, 503)
    is_possible = facts.status in statuses and not facts.headers.get("retry-after")
    is_rate_limit = facts.status == 429 and _RATE_LIMITED.search(f"{facts.code} {facts.message}")
    return is_possible and not is_rate_limit and bool(_OUT_OF_CREDIT.search(facts.message))


def _is_misconfigured(facts: ErrorFacts) -> bool:
    """Return whether a client's own error concerns its configuration, not the connection."""
    error = facts.chain[0]
    transport_errors = CLIENTS.get(_get_package(error), frozenset())
    base_names = {base.__name__ for base in type(error).__mro__}
    return bool(transport_errors) and not base_names & transport_errors


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
    (is_too_large, ContextOverflowError, "The request is larger than the context window of "
     "`{model}`: {message}"),
    (_is_out_of_credit, R, "{server} reports that the account has no credit left: {message}"),
    (_has_no_key, R, "{server} requires an API key; check {key}."),
    (_is_key_refused, R, "{server} refused the key{number}{because}; check {key}."),
    (lambda facts: facts.status == 404, R, "{server} does not have the model `{model}`, or the "
     "address is wrong (404){because}; check MANUS_MODEL and MANUS_BASE_URL."),
    (lambda facts: facts.status == 429, U, "{server}: rate limit exceeded (429): {message}"),
    (_is_final, R, "{server} refused the request{number}: {message}"),
    (lambda facts: facts.status, U, "{server} failed{number}: {message}"),
    (lambda facts: facts.class_names & _BAD_ADDRESS, R, "{server} cannot be called: the "
     "address is not valid ({cause}); MANUS_BASE_URL must look like http://localhost:11434/v1."),
    (_is_misconfigured, R, "{server} cannot be called ({cause}); check MANUS_BASE_URL and the "
     "region."),
    (lambda facts: "SSLCertVerificationError" in facts.class_names, R, "{server} is not trusted: "
     "its TLS certificate cannot be verified ({cause}). If it is the right server, set "
     "SSL_CERT_FILE to a file with all trusted certificates, including that of its authority."),
    (lambda facts: facts.class_names & _NEVER_CONNECTED, U, "{server} cannot be reached ({cause}); "
     "check MANUS_BASE_URL and the network."),
    (lambda facts: "ReplyFaultError" in facts.class_names, U, "{server} sent a reply "
     "{message}; try again, or use another model."),
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
