"""Convert OpenManus's `config.toml` and `mcp.json` to `manus.toml`."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import tomlkit
from pydantic import ValidationError

from manus.config.files import is_regular, write_atomically
from manus.config.settings import Settings

TABLE = {
    "llm.max_input_tokens": "budget.tokens",
    "agent.max_steps": "max_steps",
    "browser.headless": "browser.headless",
    "browser.chrome_instance_path": "browser.path",
    "browser.cdp_url": "browser.cdp_url",
    "browser.proxy.server": "egress.upstream_proxy",
}
"""OpenManus setting to manus setting, by full name."""
OF_A_MODEL = ("model", "base_url", "api_key", "api_version", "max_tokens", "temperature")
"""Settings of `[llm]` and `[llm.NAME]` that have the same name in manus."""
_OF_A_SERVER = ("command", "args", "env", "url", "headers")
_PROVIDERS = {"azure": "azure", "aws": "bedrock"}
"""`api_type` of OpenManus to provider, for protocols other than OpenAI's."""
_DEPLOYMENT = re.compile(r"(?P<endpoint>.*)/openai/deployments/(?P<name>[^/]+)/?")
_PLACEHOLDER = re.compile(r"|your[ _-].*|[{<].*[>}]|(sk-)?(\.{3}|x{3,})", re.IGNORECASE)
_HEAD = """\
# Created from {file} by scripts/import_openmanus.py.
# It may contain API keys and only you can read it; keep it private.

"""


class ImportFailedError(click.ClickException):
    """The configuration cannot be read or written."""

    exit_code = 2


@click.command()
@click.argument("path", default=".", type=click.Path(path_type=Path))
@click.option(
    "--output",
    metavar="FILE",
    default="manus.toml",
    type=click.Path(path_type=Path),
    help="File to write. [default: manus.toml]",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
def main(path: Path, output: Path, force: bool) -> None:
    """Import the configuration of OpenManus.

    Reads config.toml, and mcp.json next to it. PATH is the file, or a folder that contains it or
    config/config.toml. [default: this folder]
    """
    file = path
    for candidate in (path / "config.toml", path / "config/config.toml"):
        if candidate.is_file():
            file = candidate
    config = _read(file, tomllib.loads)
    servers_file = file.with_name("mcp.json")
    servers = _read(servers_file, json.loads) if servers_file.is_file() else {}
    settings, notes = translate(config, servers)
    if is_regular(output) and not force:
        raise ImportFailedError(
            f"{output} already exists and was not changed; replace it with --force, or choose "
            "another file with --output FILE."
        )
    text = _HEAD.format(file=file) + tomlkit.dumps(settings)
    try:
        write_atomically(output, text.encode("utf-8", "replace"), 0o600, keep_mode=False)
    except OSError as error:
        raise ImportFailedError(f"Cannot write {output}: {error.strerror}.") from None
    lines = [f"  {name}: {note}" for name, note in notes.items()]
    if is_regular(output):
        head = f"{file} → {output} (mode 600)"
        click.echo("\n".join([head, *lines, "", "Next: manus doctor"]))
    else:  # the settings may have been written to stdout
        click.echo("\n".join([f"{file} → {output}", *lines]), err=True)


def _read(file: Path, parse: Any) -> dict[str, Any]:
    try:
        content: dict[str, Any] = parse(file.read_text("utf-8-sig"))
    except OSError as error:
        raise ImportFailedError(
            f"Cannot read {file} ({error.strerror}); pass the path of OpenManus's config.toml."
        ) from None
    except ValueError as error:  # both parsers' errors are ValueErrors
        raise ImportFailedError(f"{file} has a syntax error: {error}.") from None
    return content


def translate(
    config: Mapping[str, Any], servers: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return settings that are valid for manus, and a note on each OpenManus setting."""
    settings: dict[str, Any] = {}
    notes: dict[str, str] = {}
    for name, place, value in _map_settings(config, servers):
        if place is None:
            notes[name] = "skipped: no equivalent setting"
        elif isinstance(value, str) and _PLACEHOLDER.fullmatch(value.strip()):
            notes[name] = "skipped: only a placeholder"
        else:
            candidate = _replace_at(settings, place, value)
            try:
                Settings.model_validate(candidate)
            except ValidationError as error:
                notes[name] = f"skipped: {error.errors()[0]['msg']}"
            else:
                settings = candidate
                notes[name] = ".".join(place)
    return settings, notes


def _map_settings(
    config: Mapping[str, Any], servers: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[str, ...] | None, Any]]:
    """Yield each OpenManus setting with its path in manus, None if there is none, and its value."""
    for name, value in _flatten({**config, "llm": _model_sections(config.get("llm", {}))}):
        match name.split("."):
            case ["llm", key] if key in OF_A_MODEL:
                yield name, (key,), value
            case ["llm", section, key] if key in OF_A_MODEL:
                yield name, ("roles", section, key), value
            case ["search", "engine"]:
                yield name, ("search", "engines"), [str(value).lower()]
            case _:
                yield name, tuple(TABLE[name].split(".")) if name in TABLE else None, value
    for name, server in servers.get("mcpServers", {}).items():
        values = {key: server[key] for key in _OF_A_SERVER if server.get(key)}
        if (kind := str(server.get("type") or "stdio").lower()) != "stdio":
            values["transport"] = "http" if "http" in kind else kind
        yield f"mcpServers.{name}", ("mcp", name), values


def _model_sections(llm: Mapping[str, Any]) -> dict[str, Any]:
    """Convert `[llm]` and each `[llm.NAME]`."""
    main: dict[str, Any] = {}
    sections: dict[str, Mapping[str, Any]] = {}
    for name, value in llm.items():
        if isinstance(value, Mapping):
            sections[name] = value
        else:
            main[name] = value
    converted = _model(main, main)
    for name, section in sections.items():
        converted[name] = _model(section, {**main, **section})
    return converted


def _model(section: Mapping[str, Any], merged: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a section; `merged` is the section with the values it inherits from `[llm]`."""
    provider = _PROVIDERS.get(str(merged.get("api_type") or "").lower())
    values = {name: value for name, value in section.items() if name != "api_type"}
    deployment = _DEPLOYMENT.fullmatch(str(merged.get("base_url") or "").strip())
    if provider == "azure" and deployment:
        values |= {"base_url": deployment["endpoint"], "model": deployment["name"]}
    if provider and "model" in values:
        values["model"] = f"{provider}:{values['model']}"
    # for Bedrock, key and region come from the AWS configuration
    unused = {None: ("api_version",), "bedrock": ("base_url", "api_key", "api_version")}
    for name in unused.get(provider, ()):
        values.pop(name, None)
    return values


def _flatten(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _replace_at(values: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return a copy of nested values with the value at a path replaced."""
    name, *rest = path
    if rest:
        value = _replace_at(values.get(name, {}), tuple(rest), value)
    return {**values, name: value}


if __name__ == "__main__":
    main()
