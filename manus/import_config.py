"""OpenManus's `config.toml` and `mcp.json` as a `manus.toml` of ours."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from manus.state.errors import SettingsError, UsageError
from manus.state.files import write_atomically
from manus.state.model_settings import provider_of
from manus.state.settings import Settings
from manus.text import flat

CONFIG, SERVERS = "config.toml", "mcp.json"
TABLE = {
    "llm.max_input_tokens": "budget.tokens",
    "agent.max_steps": "max_steps",
    "browser.headless": "browser.headless",
    "browser.chrome_instance_path": "browser.path",
    "browser.cdp_url": "browser.cdp_url",
    "browser.proxy.server": "egress.upstream_proxy",
}
"""Theirs and ours, by the whole name."""
OF_A_MODEL = ("model", "base_url", "api_key", "api_version", "max_tokens", "temperature")
"""Of `[llm]` and each `[llm.NAME]`; the names are the same."""
_OF_A_SERVER = ("command", "args", "env", "url", "headers")
_TRANSPORTS = {"sse": "sse", "http": "http", "streamable-http": "http", "streamable_http": "http"}
_BEDROCK = ("model", "max_tokens", "temperature")
"""What a model there takes; key and region come from the AWS configuration."""
_PROVIDERS = {"azure": "azure", "aws": "bedrock"}
"""Where OpenManus speaks another protocol than OpenAI's, by its `api_type`."""
_DEPLOYMENT = re.compile(r"(?P<endpoint>.*)/openai/deployments/(?P<name>[^/]+)/?")
_PLACEHOLDER = re.compile(r"your[ _-].*|[{<].*[>}]|(sk-)?(\.{3}|x{3,})", re.IGNORECASE)
_HEAD = """\
# Made from {files} by `manus import-config`.
# Keys are in it, or may come to be: nobody but you can read this file; keep it so.

"""

Place = tuple[str, ...]
"""A setting of ours: the names of its tables, then its own."""


@dataclass(slots=True)
class Translation:
    """What was taken over, as pairs of their name and ours, and what was not, and why."""

    values: dict[str, Any] = field(default_factory=dict)
    taken: list[tuple[str, str]] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)

    def take(self, theirs: str, place: Place, value: Any) -> None:
        """Set one of ours, unless the value is none or does not fit."""
        if value in (None, "") or (
            isinstance(value, str) and _PLACEHOLDER.fullmatch(value.strip())
        ):
            self.left.append((theirs, "nothing is set"))
            return
        changed = _with(self.values, place, value)
        try:
            Settings.model_validate(changed)
        except ValidationError as error:
            said = error.errors()[0]["msg"].removeprefix("Value error, ")
            self.left.append((theirs, f"it does not fit: {said[:1].lower()}{said[1:]}"))
        else:
            self.values = changed
            self.taken.append((theirs, ".".join(place)))


def _with(values: Mapping[str, Any], place: Place, value: Any) -> dict[str, Any]:
    name, *inner = place
    return {**values, name: _with(values.get(name, {}), tuple(inner), value) if inner else value}


def read_configuration(path: Path) -> tuple[dict[str, Any], dict[str, Any], list[Path]]:
    """The settings and the servers at a path, and the files with them. Blocking.

    The path is a file, its folder, or the folder of OpenManus; beside `config.toml`, `mcp.json` is
    read too.

    Raises:
        SettingsError: there is none, or a file cannot be read or is not what its name says.
    """
    if path.suffix == ".json":
        wanted = [path]
    elif path.is_dir():
        folders = (path / "config", path)
        wanted = next(([f / CONFIG, f / SERVERS] for f in folders if (f / CONFIG).is_file()), [])
    else:
        wanted = [path, path.with_name(SERVERS)]
    files = [file for file in wanted if file.is_file()]
    if not files or files[0] != wanted[0]:
        raise SettingsError(
            f"There is no configuration of OpenManus at {path}; give the path of its {CONFIG}."
        )
    config: dict[str, Any] = {}
    servers: Any = {}
    for file in files:
        if file.suffix == ".json":
            servers = _read(file, json.loads).get("mcpServers", {})
        else:
            config = _read(file, tomllib.loads)
    if not isinstance(servers, dict):
        raise SettingsError(
            f"{files[-1]}: `mcpServers` must be an object with the servers by name."
        )
    return config, servers, files


def _read(file: Path, parse: Any) -> dict[str, Any]:
    try:
        found = parse(file.read_text("utf-8-sig"))
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:  # both parsers' errors are ValueErrors
        kind = "JSON" if parse is json.loads else "TOML"
        raise SettingsError(
            f"{file} is not valid {kind}: {flat(str(error)).rstrip('.')}."
        ) from None
    if not isinstance(found, dict):
        raise SettingsError(f"{file} holds no table of settings but a {type(found).__name__}.")
    return found


def translate(config: Mapping[str, Any], servers: Mapping[str, Any]) -> Translation:
    """Ours for a `config.toml` and the servers of an `mcp.json`; always such as can be loaded."""
    done = Translation()
    llm = config.get("llm", {})
    main = {name: value for name, value in llm.items() if not isinstance(value, Mapping)}
    _take_model(done, "llm", main, main, ())
    for name, own in llm.items():
        if isinstance(own, Mapping):
            _take_model(done, f"llm.{name}", own, {**main, **own}, ("roles", name))
    for name, value in _flattened({n: v for n, v in config.items() if n != "llm"}):
        if name in TABLE:
            done.take(name, tuple(TABLE[name].split(".")), value)
        elif name == "search.engine" and str(value).lower() in Settings().search.engines:
            first = str(value).lower()
            rest = [engine for engine in Settings().search.engines if engine != first]
            done.take(name, ("search", "engines"), [first, *rest])
        else:
            done.left.append((name, "nothing here corresponds to it"))
    for name, server in servers.items():
        done.take(f"mcpServers.{name}", ("mcp", name), _server(server))
    return done


def _take_model(
    done: Translation, section: str, own: Mapping[str, Any], all_of: Mapping[str, Any], place: Place
) -> None:
    """One section: its own settings, which OpenManus fills up with those of `[llm]`."""
    values = dict(own)
    provider = _PROVIDERS.get(str(all_of.get("api_type") or "").lower(), "openai")
    known = _BEDROCK if provider == "bedrock" else OF_A_MODEL
    deployment = _DEPLOYMENT.fullmatch(str(all_of.get("base_url") or "").strip())
    if "model" in own:
        model = str(all_of["model"])
        if provider == "azure" and deployment:
            values["base_url"] = deployment["endpoint"]
            model = deployment["name"]
        if provider != "openai" or provider_of(model) != "openai":
            model = f"{provider}:{model}"
        values["model"] = model
    for name, value in values.items():
        theirs = f"{section}.{name}"
        if theirs in TABLE:
            done.take(theirs, tuple(TABLE[theirs].split(".")), value)
        elif name in known and (name != "api_version" or provider == "azure"):
            done.take(theirs, (*place, name), value)
        elif name != "api_type":
            done.left.append((theirs, "nothing here corresponds to it"))


def _flattened(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _server(server: Any) -> dict[str, Any]:
    """`[mcp.NAME]` for one of `mcpServers`; an empty one does not fit."""
    given = server if isinstance(server, Mapping) else {}
    values = {name: given[name] for name in _OF_A_SERVER if given.get(name)}
    kind = str(given.get("type") or given.get("transport") or "stdio").lower()
    if kind != "stdio":
        values["transport"] = _TRANSPORTS.get(kind, kind)
    return values


def write_settings(
    done: Translation, files: Sequence[Path], output: Path, *, replace: bool
) -> None:
    """Write the settings, so that nobody but their owner can read them. Blocking.

    Raises:
        UsageError: there is nothing to be written, or the file is there already, or cannot be.
    """
    import tomlkit

    named = flat(" and ".join(map(str, files)))
    if not done.taken:
        raise UsageError(f"There is nothing in {named} that could be taken over.")
    if output.exists() and not replace:
        raise UsageError(
            f"{output} is there already and was left as it is: --force replaces it, "
            "--output FILE writes another."
        )
    text = _HEAD.format(files=named) + tomlkit.dumps(done.values)
    try:
        write_atomically(output, text.encode("utf-8", "replace"), 0o600)
        output.chmod(0o600)
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}.") from None


def as_text(done: Translation, files: Sequence[Path], output: Path) -> str:
    """What was taken over, under which name, and what was not."""
    lines = [f"{' and '.join(map(str, files))} → {output} (mode 600)", "", "Taken over:"]
    lines += [f"  {theirs} → {ours}" for theirs, ours in done.taken]
    if done.left:
        lines += ["", "Not taken over:"]
        lines += [f"  {theirs}: {why}" for theirs, why in done.left]
    return "\n".join([*lines, "", "Next: manus doctor"])
