"""Profiles of the user's own: from `manus.toml`, or made in Python."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from manus.state.errors import SettingsError
from manus.state.profile import Profile
from manus.state.profile_settings import ProfileSettings
from manus.state.settings import Settings, load_settings
from manus.tools.catalog import as_entry, entry_name
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
    settings = load_settings(os.environ)
    return _Builder(settings, built_in).build(name)


def own_profiles(built_in: Profiles) -> dict[str, Profile]:
    """All profiles of `manus.toml`. Blocking.

    Raises:
        SettingsError: one does not fit.
    """
    settings = load_settings(os.environ)
    builder = _Builder(settings, built_in)
    return {name: builder.build(name) for name in settings.profiles}


def _from_python(name: str) -> Profile:
    found = load_own(name)
    if not isinstance(found, Profile):
        raise SettingsError(
            f"`{name}` is no profile but of the type `{type(found).__name__}`; "
            "a profile is made with `manus.state.profile.Profile(...)`."
        )
    return found


class _Builder:
    """Profiles out of settings, each over the one it is based on."""

    def __init__(self, settings: Settings, built_in: Profiles) -> None:
        self._built_in = built_in
        self._roles = {*_ROLES, *settings.roles}
        self._own: dict[str, tuple[str, ProfileSettings]] = {}
        for name, values in settings.profiles.items():
            _check_name(name, {*built_in, *self._own})
            self._own[name.lower()] = (name, values)

    def build(self, name: str, for_: tuple[str, ...] = ()) -> Profile:
        """The profile of that name; `for_` are those that are based on it."""
        if name.lower() in self._built_in:
            return self._built_in[name.lower()]
        if name.lower() not in self._own:
            known = [*self._built_in, *(own for own, _ in self._own.values())]
            raise SettingsError(_unknown(name, known, for_))
        own, values = self._own[name.lower()]
        if own in for_:
            circle = " → ".join(f"`{each}`" for each in (*for_, own))
            raise SettingsError(f"Profiles are based on each other: {circle}; break the circle.")
        base = self.build(values.based_on, (*for_, own))
        return replace(base, name=own, **self._changes(own, values, base))

    def _changes(self, name: str, values: ProfileSettings, base: Profile) -> dict[str, Any]:
        changes: dict[str, Any] = values.model_dump(exclude_none=True, exclude={"based_on"})
        changes.setdefault("description", f"As `{base.name}`, with settings of the user's own.")
        if "role" in changes and changes["role"] not in self._roles:
            known = ", ".join(sorted(self._roles))
            raise SettingsError(
                f"The profile `{name}` wants a model for the role `{changes['role']}`, which is "
                f"not configured; known are: {known}."
            )
        if values.tools is not None:
            changes["tools"] = tuple(_entry(tool, name) for tool in values.tools)
            _check_no_two_alike(values.tools, changes["tools"], name)
        return changes


def _check_name(name: str, taken: Iterable[str]) -> None:
    if not _NAME.fullmatch(name):
        raise SettingsError(
            f"A profile cannot be named `{name}`; use letters without accents, digits, `_` and `-`."
        )
    if name.lower() in taken:
        raise SettingsError(
            f"There is a profile `{name.lower()}` already; give yours another name and, to keep "
            f'what that one has, `based_on = "{name.lower()}"`.'
        )


def _entry(tool: str, profile: str) -> Any:
    try:
        return as_entry(tool)
    except SettingsError as error:
        raise SettingsError(f"The profile `{profile}`: {error}") from error.__cause__


def _check_no_two_alike(written: Iterable[str], entries: Iterable[Any], profile: str) -> None:
    """Two tools of one name would be refused when a run begins; here both places are known."""
    first: dict[str, str] = {}
    for place, entry in zip(written, entries, strict=True):
        name = entry_name(entry).lower()
        if name in first:
            raise SettingsError(
                f"The profile `{profile}` has two tools named `{name}`, `{first[name]}` and "
                f"`{place}`; leave one out, or give a function of yours another name."
            )
        first[name] = place


def _unknown(name: str, known: list[str], for_: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name.lower(), [each.lower() for each in known], n=1)
    meant = f"; did you mean `{near[0]}`? Known" if near else "; known"
    wanted = f", on which `{for_[-1]}` is based" if for_ else ""
    return f"There is no profile `{name}`{wanted}{meant} are: {', '.join(known)}."
