"""Filter the settings of an untrusted `manus.toml`: only those that make a run stricter apply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from manus.config.settings import Settings

FEWEST_STEPS = 40
"""The smallest step limit of a built-in profile: a `max_steps` up to this is not an increase."""
_STRICTER_MODES = {"yolo": ("auto", "ask", "refuse"), "auto": ("ask", "refuse")}
"""For each mode of approval, the modes that allow fewer calls."""
_STRICTER_NETWORKS = {"open": ("rules", "off"), "rules": ("off",)}
_LIMITS = ("memory_megabytes", "processes", "file_megabytes")


def only_stricter(
    values: Mapping[str, Any], settings: Settings
) -> tuple[dict[str, Any], list[str]]:
    """Return the values of an untrusted file that apply, and the names of those ignored.

    `settings` are those without the file.
    """
    accepted: dict[str, Any] = {}
    for name, value in values.items():
        rule = _RULES.get(name)
        stricter = rule(value, settings) if rule else None
        if stricter is not None and _is_valid(settings, name, stricter):
            accepted[name] = stricter
    extended = {
        "approve": {"deny": settings.approve.deny},
        "egress": {"deny": settings.egress.deny},
    }
    ignored = [
        name
        for name, value in values.items()
        if not _is_accepted(name, value, accepted, extended.get(name, {}))
    ]
    return accepted, ignored


def _is_valid(settings: Settings, name: str, value: Any) -> bool:
    try:
        type(settings).model_validate({name: value})
    except ValidationError:
        return False
    return True


def _is_accepted(
    name: str, value: Any, accepted: Mapping[str, Any], extended: Mapping[str, Any]
) -> bool:
    """Return whether a setting is accepted as a whole.

    `extended` are the user's own lists, to which entries of the file were appended.
    """
    accepted_value = accepted.get(name, value is None)
    if not isinstance(value, dict) or not isinstance(accepted_value, dict):
        return bool(accepted_value == value)
    for key, inner in value.items():
        expected = [*extended[key], *inner] if key in extended else inner
        if accepted_value.get(key) != expected:
            return False
    return True


def _fewer_steps(value: Any, settings: Settings) -> Any:
    limit = settings.max_steps
    if not limit:
        profile_limits = [profile.max_steps for profile in settings.profiles.values()]
        limit = min([FEWEST_STEPS, *filter(None, profile_limits)])
    return value if _is_number(value) and value <= limit else None


def _smaller_budget(value: Any, settings: Settings) -> Any:
    return _lower_limits(value, settings.budget, tuple(type(settings.budget).model_fields))


def _stricter_approval(value: Any, settings: Settings) -> Any:
    if not isinstance(value, dict):
        return None
    accepted: dict[str, Any] = {}
    if value.get("mode") in _STRICTER_MODES.get(settings.approve.mode, ()):
        accepted["mode"] = value["mode"]
    if value.get("taint") == "all":
        accepted["taint"] = "all"
    if isinstance(value.get("deny"), list):
        accepted["deny"] = [*settings.approve.deny, *value["deny"]]
    return accepted or None


def _narrower_egress(value: Any, settings: Settings) -> Any:
    """Return the deny list; an allow list would also count as hosts that the user has named."""
    if isinstance(value, dict) and isinstance(value.get("deny"), list):
        return {"deny": [*settings.egress.deny, *value["deny"]]}
    return None


def _tighter_sandbox(value: Any, settings: Settings) -> Any:
    if not isinstance(value, dict):
        return None
    accepted: dict[str, Any] = _lower_limits(value, settings.sandbox, _LIMITS) or {}
    if value.get("network") in _STRICTER_NETWORKS.get(settings.sandbox.network, ()):
        accepted["network"] = value["network"]
    return accepted or None


def _without_memory(value: Any, _: Settings) -> Any:
    return value if value is False else None


def _lower_limits(value: Any, limits: BaseModel, names: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the limits of a table that do not exceed the current ones."""
    if not isinstance(value, dict):
        return None
    accepted = {}
    for name in names:
        limit = value.get(name)
        current = getattr(limits, name)
        if _is_number(limit) and (current is None or limit <= current):
            accepted[name] = limit
    return accepted or None


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
"""By setting: a function that returns the part of a value that makes a run stricter, or None."""
