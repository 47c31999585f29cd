"""OpenManus's configuration files: where they are, and what is in them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manus.state.errors import SettingsError

CONFIG, SERVERS = "config.toml", "mcp.json"


@dataclass(frozen=True, slots=True)
class Found:
    """What there was to be read."""

    config: dict[str, Any]
    """Of `config.toml`; empty where there is none."""
    servers: dict[str, Any]
    """The `mcpServers` of `mcp.json`, by name."""
    files: tuple[Path, ...]


def read_configuration(path: Path) -> Found:
    """The configuration at a path: a file, its folder, or the folder of OpenManus. Blocking.

    Beside `config.toml`, `mcp.json` is read too; a file ending in `.json` is read alone.

    Raises:
        SettingsError: there is none, or a file cannot be read or is not what its name says.
    """
    config, servers = _places(path)
    files = tuple(file for file in (config, servers) if file is not None and file.exists())
    if not files:
        where = f"at {path}" if path.suffix else f"in {path} or {path / 'config'}"
        raise SettingsError(
            f"There is no configuration of OpenManus {where}; give the path of its {CONFIG}."
        )
    return Found(
        _read(config, "TOML", tomllib.loads) if config in files else {},
        _servers_of(servers) if servers in files else {},
        files,
    )


def _places(path: Path) -> tuple[Path | None, Path | None]:
    """Where the two files would be."""
    if path.is_dir():
        folder = next(
            (f for f in (path / "config", path) if _is_there(f / CONFIG) or _is_there(f / SERVERS)),
            path,
        )
        return folder / CONFIG, folder / SERVERS
    if path.suffix.lower() == ".json":
        return None, path
    return path, path.with_name(SERVERS) if path.exists() else None


def _is_there(file: Path) -> bool:
    return file.is_file()


def _read(file: Path | None, kind: str, parse: Callable[[str], Any]) -> dict[str, Any]:
    try:
        found = parse(Path(str(file)).read_text("utf-8-sig"))
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:  # both parsers' errors are ValueErrors
        raise SettingsError(f"{file} is not valid {kind}: {_flat(error)}.") from None
    if not isinstance(found, dict):
        raise SettingsError(f"{file} holds no table of settings but a {type(found).__name__}.")
    return found


def _servers_of(file: Path | None) -> dict[str, Any]:
    servers = _read(file, "JSON", json.loads).get("mcpServers", {})
    if not isinstance(servers, dict):
        raise SettingsError(f"{file}: `mcpServers` must be an object with the servers by name.")
    return servers


def _flat(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".")
