"""What counts of a `manus.toml` that nobody has trusted: only what makes a run stricter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from manus.config.settings import Settings

FEWEST_STEPS = 40
"""The smallest step budget of a built-in profile: up to this one, `max_steps` is no increase."""
_STRICTER_MODES = {"yolo": ("auto", "ask", "refuse"), "auto": ("ask", "refuse")}
"""Modes of approval that let fewer calls pass than another one."""
_STRICTER_NETWORKS = {"open": ("rules", "off"), "rules": ("off",)}
_LIMITS = ("memory_megabytes", "processes", "file_megabytes")


def only_stricter(
    values: Mapping[str, Any], settings: Settings
) -> tuple[dict[str, Any], list[str]]:
    """Return what counts of an untrusted file, over the settings without it.

    Second come the names of what does not count.
    """
    kept: dict[str, Any] = {}
    for name, value in values.items():
        keep = _RULES.get(name)
        stricter = keep(value, settings) if keep else None
        if stricter is not None and _fits(settings, name, stricter):
            kept[name] = stricter
    added = {"approve": {"deny": settings.approve.deny}, "egress": {"deny": settings.egress.deny}}
    return kept, [name for name, value in values.items() if not _is_whole(name, value, kept, added)]


def _fits(settings: Settings, name: str, value: Any) -> bool:
    try:
        type(settings).model_validate({name: value})
    except ValidationError:
        return False
    return True


def _is_whole(
    name: str, value: Any, kept: Mapping[str, Any], added: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Return whether all of a setting counts; a list may have grown by the user's own entries."""
    if not isinstance(value, dict) or not isinstance(kept.get(name), dict):
        return bool(kept.get(name, value is None) == value)
    own = added.get(name, {})
    return all(
        kept[name].get(key) == (inner if key not in own else [*own[key], *inner])
        for key, inner in value.items()
    )


def _fewer_steps(value: Any, settings: Settings) -> Any:
    own = [profile.max_steps for profile in settings.profiles.values() if profile.max_steps]
    most = settings.max_steps or min([FEWEST_STEPS, *own])
    return value if _is_number(value) and value <= most else None


def _smaller_budget(value: Any, settings: Settings) -> Any:
    return _lower(value, settings.budget, tuple(type(settings.budget).model_fields))


def _stricter_approval(value: Any, settings: Settings) -> Any:
    if not isinstance(value, dict):
        return None
    kept: dict[str, Any] = {}
    if value.get("mode") in _STRICTER_MODES.get(settings.approve.mode, ()):
        kept["mode"] = value["mode"]
    if isinstance(value.get("deny"), list):
        kept["deny"] = [*settings.approve.deny, *value["deny"]]
    return kept or None


def _narrower_egress(value: Any, settings: Settings) -> Any:
    """Keep the deny list. An allow list would also count as hosts that the user has named."""
    if isinstance(value, dict) and isinstance(value.get("deny"), list):
        return {"deny": [*settings.egress.deny, *value["deny"]]}
    return None


def _tighter_sandbox(value: Any, settings: Settings) -> Any:
    if not isinstance(value, dict):
        return None
    kept: dict[str, Any] = _lower(value, settings.sandbox, _LIMITS) or {}
    if value.get("network") in _STRICTER_NETWORKS.get(settings.sandbox.network, ()):
        kept["network"] = value["network"]
    return kept or None


def _without_memory(value: Any, _: Settings) -> Any:
    return value if value is False else None


def _lower(value: Any, limits: BaseModel, names: tuple[str, ...]) -> dict[str, Any] | None:
    """Return those limits of a table that are lower than what holds, or where none holds."""
    if not isinstance(value, dict):
        return None
    kept = {}
    for name in names:
        limit = value.get(name)
        present = getattr(limits, name)
        if _is_number(limit) and (present is None or limit <= present):
            kept[name] = limit
    return kept or None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_RULES: dict[str, Callable[[Any, Settings], Any]] = {
    "max_steps": _fewer_steps,
    "budget": _smaller_budget,
    "approve": _stricter_approval,
    "egress": _narrower_egress,
    "sandbox": _tighter_sandbox,
    "memory": _without_memory,
}
"""For each setting that can make a run stricter: what counts of a value, or None."""
