"""`manus import-config`: OpenManus's `config.toml` and `mcp.json` as a `manus.toml` of ours."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

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
_PROVIDERS = {"azure": "azure", "aws": "bedrock"}
"""Where OpenManus speaks another protocol than OpenAI's, by its `api_type`."""
_DEPLOYMENT = re.compile(r"(?P<endpoint>.*)/openai/deployments/(?P<name>[^/]+)/?")
_PLACEHOLDER = re.compile(r"|your[ _-].*|[{<].*[>}]|(sk-)?(\.{3}|x{3,})", re.IGNORECASE)
_HEAD = """\
# Made from {file} by `manus import-config`.
# Keys are in it, or may come to be: nobody but you can read this file; keep it so.

"""


@click.command("import-config")
@click.argument("path", default=".", type=click.Path(path_type=Path))
@click.option(
    "--output",
    metavar="FILE",
    default="manus.toml",
    type=click.Path(path_type=Path),
    help="The file to write (manus.toml).",
)
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
def import_config(path: Path, output: Path, force: bool) -> int:
    """Take over the configuration of OpenManus: config.toml, and mcp.json beside it.

    PATH is the file, or a folder with it or its config/ in it (default: here).
    """
    import tomlkit

    from manus.cli.output import print_output
    from manus.config.files import is_regular, write_atomically
    from manus.state.errors import UsageError

    file = next(
        (p for p in (path / "config/config.toml", path / "config.toml") if p.is_file()), path
    )
    servers = file.with_name("mcp.json")
    ours, said = translate(
        _read(file, tomllib.loads), _read(servers, json.loads) if servers.is_file() else {}
    )
    if is_regular(output) and not force:
        raise UsageError(
            f"{output} is there already and was left as it is: --force replaces it, "
            "--output FILE writes another."
        )
    text = _HEAD.format(file=file) + tomlkit.dumps(ours)
    try:
        write_atomically(output, text.encode("utf-8", "replace"), 0o600, keep_mode=False)
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}.") from None
    lines = [f"  {theirs}: {what}" for theirs, what in said.items()]
    if is_regular(output):
        head = f"{file} → {output} (mode 600)"
        print_output("\n".join([head, *lines, "", "Next: manus doctor"]))
    else:  # stdout may be where the settings have just been written
        sys.stderr.write("\n".join([f"{file} → {output}", *lines, ""]))
    return 0


def _read(file: Path, parse: Any) -> dict[str, Any]:
    from manus.state.errors import SettingsError

    try:
        found: dict[str, Any] = parse(file.read_text("utf-8-sig"))
    except OSError as error:
        where = "give the path of OpenManus's config.toml"
        raise SettingsError(f"{file} cannot be read ({error.strerror}); {where}.") from None
    except ValueError as error:  # both parsers' errors are ValueErrors
        raise SettingsError(f"{file} cannot be understood: {error}.") from None
    return found


def translate(
    config: Mapping[str, Any], servers: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Ours, always such as can be loaded; and what became of each of theirs."""
    from pydantic import ValidationError

    from manus.config.settings import Settings

    ours: dict[str, Any] = {}
    said: dict[str, str] = {}
    for theirs, place, value in _placed(config, servers):
        if place is None:
            said[theirs] = "not taken: nothing corresponds to it"
        elif isinstance(value, str) and _PLACEHOLDER.fullmatch(value.strip()):
            said[theirs] = "not taken: it is not set"
        else:
            changed = _with(ours, place, value)
            try:
                Settings.model_validate(changed)
            except ValidationError as error:
                said[theirs] = f"not taken: {error.errors()[0]['msg']}"
            else:
                ours = changed
                said[theirs] = ".".join(place)
    return ours, said


def _placed(
    config: Mapping[str, Any], servers: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[str, ...] | None, Any]]:
    """Each of their settings, where it goes, and its value there."""
    llm = config.get("llm", {})
    main = {name: value for name, value in llm.items() if not isinstance(value, Mapping)}
    models = {n: _model(own, {**main, **own}) for n, own in llm.items() if n not in main}
    for theirs, value in _flattened({**config, "llm": {**_model(main, main), **models}}):
        match theirs.split("."):
            case ["llm", *section, name] if name in OF_A_MODEL and len(section) <= 1:
                yield theirs, (*(("roles", *section) if section else ()), name), value
            case ["search", "engine"]:
                yield theirs, ("search", "engines"), [str(value).lower()]
            case _:
                yield theirs, tuple(TABLE[theirs].split(".")) if theirs in TABLE else None, value
    for name, server in servers.get("mcpServers", {}).items():
        values = {key: server[key] for key in _OF_A_SERVER if server.get(key)}
        if (kind := str(server.get("type") or "stdio").lower()) != "stdio":
            values["transport"] = "http" if "http" in kind else kind
        yield f"mcpServers.{name}", ("mcp", name), values


def _model(own: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    """A section; `whole` is how OpenManus fills it up with `[llm]`."""
    provider = _PROVIDERS.get(str(whole.get("api_type") or "").lower())
    values = {name: value for name, value in own.items() if name != "api_type"}
    deployment = _DEPLOYMENT.fullmatch(str(whole.get("base_url") or "").strip())
    if provider == "azure" and deployment:
        values |= {"base_url": deployment["endpoint"], "model": deployment["name"]}
    if provider and "model" in values:
        values["model"] = f"{provider}:{values['model']}"
    # key and region come from the AWS configuration
    left = {None: ("api_version",), "bedrock": ("base_url", "api_key", "api_version")}
    return {name: value for name, value in values.items() if name not in left.get(provider, ())}


def _flattened(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _with(values: Mapping[str, Any], place: tuple[str, ...], value: Any) -> dict[str, Any]:
    name, *inner = place
    return {**values, name: _with(values.get(name, {}), tuple(inner), value) if inner else value}
