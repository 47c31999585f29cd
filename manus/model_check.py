"""Whether the model's server answers: one request for its models, three seconds at most."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from manus.inquiry import Inquiry, inquiry_of, is_about_key
from manus.models.errors import KEYS
from manus.models.model_names import (
    DEFAULT_MODEL,
    NOT_CONFIGURED,
    REPLAY,
    is_configured,
    shown_address,
    split_spec,
)
from manus.state.model_settings import ModelSettings

if TYPE_CHECKING:
    import httpx

_TIMEOUT = 3.0
_NAMED = 5
"""Models of a list that are named."""


class Answer(NamedTuple):
    """How it stands, in words, and what to do about it."""

    state: Literal["ok", "warning", "missing"]
    text: str
    remedy: str = ""


def check_endpoint(settings: ModelSettings) -> Answer:
    """Ask the server of a model, if it is one that can be asked."""
    if not is_configured(settings):
        text, _, remedy = NOT_CONFIGURED.partition(": ")
        return Answer("missing", text, remedy[:1].upper() + remedy[1:])
    spec = settings.model or DEFAULT_MODEL
    if spec.startswith(REPLAY):
        return _recording(spec.removeprefix(REPLAY))
    provider, name = split_spec(spec)
    inquiry = inquiry_of(settings, os.environ)
    if inquiry is not None:
        return _ask(inquiry, provider, name)
    if provider == "openai":
        return Answer("missing", f"{spec} has no key", "Set OPENAI_API_KEY or MANUS_API_KEY.")
    return Answer("ok", f"{spec} (not asked: its client finds its key and address by itself)")


def _recording(path: str) -> Answer:
    if Path(path).is_file():
        return Answer("ok", f"plays the recording {path}")
    return Answer("missing", f"there is no recording {path}", "Mend MANUS_MODEL.")


def _ask(inquiry: Inquiry, provider: str, name: str) -> Answer:
    import httpx

    address = shown_address(inquiry.address).rstrip("/")
    path = inquiry.models if provider == "openai" else inquiry.model
    try:
        reply = httpx.get(
            f"{inquiry.address.rstrip('/')}{path}", headers=inquiry.fields, timeout=_TIMEOUT
        )
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        said = str(error) or type(error).__name__
        for key in inquiry.fields.values():
            said = said.replace(key.removeprefix("Bearer "), "…")
        remedy = "Start the server, or check MANUS_BASE_URL and the network."
        return Answer("missing", f"{name}: {address} cannot be reached ({said})", remedy)
    body = _body(reply)
    status, told = reply.status_code, body.get("error")
    told = told if isinstance(told, dict) else {}
    if status == 403 or is_about_key(status, told):
        said = f"{name}: {address} refuses the key ({status})"
        return Answer("missing", said, f"Check {KEYS[provider]}.")
    if inquiry.is_unknown(status, told):
        return Answer("missing", f"{address} has no model {name}", "Check MANUS_MODEL.")
    return _read(status, _names(body), address, name)


def _read(status: int, names: list[str], address: str, name: str) -> Answer:
    if status >= 500:
        return Answer("warning", f"{name}: {address} answers {status}", "Try again later.")
    if status != 200:
        return Answer("ok", f"{name} at {address} (it gives no list of models)")
    if not names or name in names or f"{name}:latest" in names:
        return Answer("ok", f"{name} at {address}")
    some = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    remedy = f"It lists: {some}. Set MANUS_MODEL to one of them."
    return Answer("warning", f"{name} is not in the list of {address}", remedy)


def _body(reply: httpx.Response) -> dict[str, Any]:
    try:
        body = reply.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _names(body: dict[str, Any]) -> list[str]:
    """The names of a list of models; none of what is no list."""
    try:
        return [str(model["id"]) for model in body["data"]]
    except (KeyError, TypeError):
        return []
