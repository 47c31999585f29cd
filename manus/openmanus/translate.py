"""OpenManus's settings translated into ours, with an account of each of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from manus.openmanus import names
from manus.openmanus.models import model_values
from manus.openmanus.servers import server_values
from manus.state.settings import Settings

_PLACEHOLDER = re.compile(
    r"your[ _-].*|\{.*|<.*>|(sk-)?(\.{3}|…|x{3,}|\*{3,})|azure api (key|version)"
    r"|.*//proxy-server:port.*|proxy-(username|password)",
    re.IGNORECASE | re.DOTALL,
)

Place = tuple[str, ...]
"""A setting of ours: the names of its tables, then its own."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A setting that was taken over."""

    theirs: str
    place: Place
    value: Any
    remark: str = ""

    @property
    def ours(self) -> str:
        """Our name of it."""
        return ".".join(self.place)

    @property
    def shown(self) -> str:
        """Its value, without what may be secret; empty for a table."""
        if self.is_secret:
            return "(secret)"
        if isinstance(self.value, str):
            return _without_secrets(self.value)
        if isinstance(self.value, list):
            return ", ".join(map(str, self.value))
        return "" if isinstance(self.value, Mapping) else str(self.value).lower()

    @property
    def is_secret(self) -> bool:
        """Whether nobody else should read its value."""
        return self.place[-1] == "api_key"

    @property
    def holds_secrets(self) -> bool:
        """The same, for a server too: its variables, its headers, or its address may be one."""
        return self.is_secret or isinstance(self.value, Mapping)


@dataclass(frozen=True, slots=True)
class Left:
    """A setting that was not."""

    theirs: str
    why: str


@dataclass(slots=True)
class Translation:
    """What became of each setting."""

    taken: list[Taken] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)

    @property
    def values(self) -> dict[str, Any]:
        """Ours, as nested tables."""
        values: dict[str, Any] = {}
        for taken in self.taken:
            table = values
            for name in taken.place[:-1]:
                table = table.setdefault(name, {})
            table[taken.place[-1]] = taken.value
        return values

    def take(self, theirs: str, place: Place, value: Any, remark: str = "") -> None:
        """Set one of ours, unless the value is none."""
        if why := _nothing_in(value):
            self.leave(theirs, why)
        else:
            self.taken.append(Taken(theirs, place, value, remark))

    def leave(self, theirs: str, why: str) -> None:
        """Set nothing, for this reason."""
        self.left.append(Left(theirs, why))


def translate(config: Mapping[str, Any], servers: Mapping[str, Any]) -> Translation:
    """Ours for a `config.toml` and the servers of an `mcp.json`.

    What does not fit ours, or is only the example's placeholder, is left out with the reason; so
    the values are always settings that can be loaded.
    """
    done = Translation()
    for section, values in config.items():
        if section == "llm" and isinstance(values, Mapping):
            _models(done, values)
        elif section == "search" and isinstance(values, Mapping):
            _search(done, values)
        else:
            _plain(done, section, values)
    for name, server in servers.items():
        _server(done, name, server)
    _leave_what_does_not_fit(done)
    return done


def _models(done: Translation, llm: Mapping[str, Any]) -> None:
    main = {name: value for name, value in llm.items() if not isinstance(value, Mapping)}
    if (most := main.pop("max_input_tokens", None)) is not None:
        place = tuple(names.SAME["llm.max_input_tokens"].split("."))
        done.take("llm.max_input_tokens", place, most, names.OF_ONE_RUN)
    _model(done, "llm", main, main, ())
    for name, own in llm.items():
        if isinstance(own, Mapping):
            _model(done, f"llm.{name}", own, {**main, **own}, ("roles", name))


def _model(
    done: Translation, section: str, own: Mapping[str, Any], merged: Mapping[str, Any], place: Place
) -> None:
    for theirs, ours, value, remark in model_values(own, merged, role="".join(place[1:])):
        if ours:
            done.take(f"{section}.{theirs}", (*place, ours), value, remark)
        else:
            done.leave(f"{section}.{theirs}", remark)


def _search(done: Translation, search: Mapping[str, Any]) -> None:
    """Engines in their order, then ours: OpenManus too asks those that are not named at last."""
    default = Settings().search.engines
    named: list[str] = []
    for setting in ("engine", "fallback_engines"):
        given = search.get(setting, [])
        for engine in given if isinstance(given, list) else [given]:
            if ours := names.ENGINES.get(str(engine).lower()):
                named.append(ours)
            else:
                known = ", ".join(default)
                done.leave(f"search.{setting}", f"there is no engine {engine} here, but {known}")
    if named:
        order = list(dict.fromkeys([*named, *default]))
        done.take("search.engine", ("search", "engines"), order, "then those it does not name")
    others = {n: v for n, v in search.items() if n not in ("engine", "fallback_engines")}
    _plain(done, "search", others)


def _plain(done: Translation, name: str, value: Any) -> None:
    if name == "browser.proxy.server" and (why := _unfit_proxy(str(value))):
        done.leave(name, why)
    elif name in names.SAME:
        done.take(name, tuple(names.SAME[name].split(".")), value)
    elif name in names.WITHOUT:
        done.leave(name, names.WITHOUT[name])
    elif isinstance(value, Mapping) and _is_section(name):
        for inner, given in value.items():
            _plain(done, f"{name}.{inner}", given)
    else:
        done.leave(name, names.UNKNOWN)


def _unfit_proxy(address: str) -> str:
    if "@" in address:
        return names.WITHOUT["browser.proxy.password"]
    is_other = "://" in address and not address.lower().startswith("http://")
    return "the proxy is spoken to by plain http:// alone" if is_other else ""


def _is_section(name: str) -> bool:
    return any(known.startswith(f"{name}.") for known in (*names.SAME, *names.WITHOUT))


def _server(done: Translation, name: str, server: Any) -> None:
    values, left = server_values(server)
    if values:
        done.take(f"mcpServers.{name}", ("mcp", name), values)
    for setting, why in left.items():
        done.leave(f"mcpServers.{name}{f'.{setting}' if setting else ''}", why)


def _leave_what_does_not_fit(done: Translation) -> None:
    while done.taken:
        try:
            Settings.model_validate(done.values)
        except ValidationError as error:
            first = error.errors()[0]
        else:
            return
        place = tuple(map(str, first["loc"]))
        fitting = [taken for taken in done.taken if taken.place == place[: len(taken.place)]]
        bad = fitting[0] if fitting else done.taken[-1]
        done.taken.remove(bad)
        said = first["msg"].removeprefix("Value error, ")
        done.leave(bad.theirs, f"it does not fit: {said[:1].lower()}{said[1:]}")


def _nothing_in(value: Any) -> str:
    if value is None or value == "":
        return "it is empty"
    if isinstance(value, str) and _PLACEHOLDER.fullmatch(value.strip()):
        return "it is the example's placeholder"
    return ""


def _without_secrets(text: str) -> str:
    """An address without what may be a password in it; other text as it is."""
    if "://" not in text:
        return text
    try:
        parts = urlsplit(text)
    except ValueError:
        return "(an address)"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
