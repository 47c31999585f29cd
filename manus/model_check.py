"""Whether the model's server answers: one request for its list of models, three seconds at most."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from manus.inquiry import OPENAI
from state.model_settings import ModelSettings

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
    from nodes.model_names import DEFAULT_MODEL, NOT_CONFIGURED, REPLAY, is_configured, split_spec

    if not is_configured(settings):
        text, _, remedy = NOT_CONFIGURED.partition(": ")
        return Answer("missing", text, remedy[:1].upper() + remedy[1:])
    spec = settings.model or DEFAULT_MODEL
    if spec.startswith(REPLAY):
        return _recording(spec.removeprefix(REPLAY))
    provider, name = split_spec(spec)
    if provider != "openai":
        return Answer("ok", f"{spec} (not asked: only OpenAI-compatible servers can be)")
    if settings.base_url is None and settings.api_key is None:
        return Answer("missing", f"{spec} has no key", "Set OPENAI_API_KEY or MANUS_API_KEY.")
    return _ask((settings.base_url or OPENAI).rstrip("/"), name, settings)


def _recording(path: str) -> Answer:
    if Path(path).is_file():
        return Answer("ok", f"plays the recording {path}")
    return Answer("missing", f"there is no recording {path}", "Mend MANUS_MODEL.")


def _ask(address: str, name: str, settings: ModelSettings) -> Answer:
    import httpx

    key = settings.api_key.get_secret_value() if settings.api_key else "none"
    try:
        reply = httpx.get(
            f"{address}/models", headers={"Authorization": f"Bearer {key}"}, timeout=_TIMEOUT
        )
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        said = str(error).replace(key, "…") or type(error).__name__
        remedy = "Start the server, or check MANUS_BASE_URL and the network."
        return Answer("missing", f"{name}: {address} cannot be reached ({said})", remedy)
    return _read(reply.status_code, _names(reply), address, name)


def _read(status: int, names: list[str], address: str, name: str) -> Answer:
    if status in (401, 403):
        remedy = "Check MANUS_API_KEY or OPENAI_API_KEY."
        return Answer("missing", f"{name}: {address} refuses the key ({status})", remedy)
    if status >= 500:
        return Answer("warning", f"{name}: {address} answers {status}", "Try again later.")
    if status != 200 or not names:
        return Answer("ok", f"{name} at {address} (it gives no list of models)")
    if name in names or f"{name}:latest" in names:
        return Answer("ok", f"{name} at {address}")
    some = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    remedy = f"It lists: {some}. Set MANUS_MODEL to one of them."
    return Answer("warning", f"{name} is not in the list of {address}", remedy)


def _names(reply: object) -> list[str]:
    try:
        data = reply.json()["data"]  # type: ignore[attr-defined]
        return [str(model["id"]) for model in data]
    except (ValueError, KeyError, TypeError):
        return []
