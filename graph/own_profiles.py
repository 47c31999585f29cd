"""Profiles of the user's own: from `manus.toml`, or made in Python."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from manus.state.errors import SettingsError
from manus.state.profile import Profile
from manus.state.settings import Settings, load_settings
from manus.tools.catalog import as_entry
from manus.tools.own import is_own, load_own

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_ROLES = ("main", "summary", "plan", "extract", "vision")
"""Roles that there are without being configured: they are the main model's."""

Profiles = Mapping[str, Profile]


def own_profile(name: str, built_in: Profiles) -> Profile:
    """The user's profile of that name. Blocking.

    Raises:
        SettingsError: there is none, or it does not fit.
    """
    if is_own(name):
        return _from_python(name)
    return _built(name, _checked_settings(built_in), built_in)


def own_profiles(built_in: Profiles) -> dict[str, Profile]:
    """All profiles of `manus.toml`. Blocking.

    Raises:
        SettingsError: one does not fit.
    """
    settings = _checked_settings(built_in)
    return {name: _built(name, settings, built_in) for name in settings.profiles}


def _from_python(name: str) -> Profile:
    found = load_own(name)
    if not isinstance(found, Profile):
        raise SettingsError(
            f"`{name}` is no profile but of the type `{type(found).__name__}`; "
            "a profile is made with `manus.state.profile.Profile(...)`."
        )
    return found


def _checked_settings(built_in: Profiles) -> Settings:
    """The settings, whose profiles have names of their own."""
    settings = load_settings(os.environ)
    taken = set(built_in)
    for name in settings.profiles:
        if not _NAME.fullmatch(name):
            raise SettingsError(
                f"A profile cannot be named `{name}`; use letters without accents, digits, `_` "
                "and `-`."
            )
        if name.lower() in taken:
            raise SettingsError(
                f"There is a profile `{name.lower()}` already; give yours another name and, to "
                f'keep what that one has, `based_on = "{name.lower()}"`.'
            )
        taken.add(name.lower())
    return settings


def _built(
    name: str, settings: Settings, built_in: Profiles, for_: tuple[str, ...] = ()
) -> Profile:
    """The profile of that name, over the one it is based on; `for_` are those based on it."""
    if name.lower() in built_in:
        return built_in[name.lower()]
    own = next((each for each in settings.profiles if each.lower() == name.lower()), None)
    if own is None:
        raise SettingsError(_unknown(name, [*built_in, *settings.profiles], for_))
    if own in for_:
        circle = " → ".join(f"`{each}`" for each in (*for_, own))
        raise SettingsError(f"Profiles are based on each other: {circle}; break the circle.")
    values = settings.profiles[own]
    base = _built(values.based_on, settings, built_in, (*for_, own))
    changes: dict[str, Any] = values.model_dump(exclude_none=True, exclude={"based_on"})
    changes.setdefault("description", f"As `{base.name}`, with settings of the user's own.")
    roles = {*_ROLES, *settings.roles}
    if values.role not in (None, *roles):
        raise SettingsError(
            f"The profile `{own}` wants a model for the role `{values.role}`, which is not "
            f"configured; known are: {', '.join(sorted(roles))}."
        )
    if values.tools is not None:
        changes["tools"] = tuple(_entry(tool, own) for tool in values.tools)
    return replace(base, name=own, **changes)


def _entry(tool: str, profile: str) -> Any:
    try:
        return as_entry(tool)
    except SettingsError as error:
        raise SettingsError(f"The profile `{profile}`: {error}") from error.__cause__


def _unknown(name: str, known: list[str], for_: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name.lower(), [each.lower() for each in known], n=1)
    meant = f"; did you mean `{near[0]}`? Known" if near else "; known"
    wanted = f", on which `{for_[-1]}` is based" if for_ else ""
    return f"There is no profile `{name}`{wanted}{meant} are: {', '.join(known)}."
