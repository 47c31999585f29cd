"""The model servers on this machine, used without any settings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from manus.config.provider_table import PRODUCTS
from manus.state.errors import UsageError

if TYPE_CHECKING:
    from manus.config.settings import Settings
    from manus.runs.options import RunOptions

_TIMEOUT = 1.0
"""Seconds for a local server to respond."""


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A model server that runs on this machine."""

    title: str
    address: str
    models: tuple[str, ...]

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings that use its first model that is not one for embeddings."""
        chat_models = [name for name in self.models if "embed" not in name.lower()]
        name = [*chat_models, *self.models][0]
        # without a key of its own, that of another server would be sent there
        return {"model": name, "base_url": self.address, "api_key": "none"}


def find_local_servers() -> Iterator[LocalServer]:
    """Yield the servers that answer at the usual address of a product. Blocking."""
    import httpx

    from manus.cli.model_check import parse_model_names
    from manus.models.server_window import local_address

    for title, product in PRODUCTS.items():
        if product.port is None:
            continue
        address = f"{local_address(product)}/v1"
        try:
            reply = httpx.get(f"{address}/models", timeout=_TIMEOUT, trust_env=False)
        except (httpx.HTTPError, httpx.InvalidURL):
            continue
        if names := parse_model_names(reply):
            yield LocalServer(title, address, tuple(names))


def use_local_server(args: RunOptions, settings: Settings) -> Settings:
    """Return the settings with a local server: for `--local`, or if the user takes the offer.

    It is offered at a terminal if no model is configured, and then stored.

    Raises:
        UsageError: `--local`, and no server answers.
    """
    from manus.cli.settings import read_settings
    from manus.cli.trust_question import can_ask
    from manus.cli.user_settings import save_settings
    from manus.models.providers import is_configured
    from manus.runs.configuration import select_main_endpoint

    has_model = args.or_replay or is_configured(select_main_endpoint(settings, args.model))
    if not args.local and (has_model or not can_ask()):
        return settings
    servers = list(find_local_servers())
    if args.local and not servers:
        names = ", ".join(name for name, product in PRODUCTS.items() if product.port is not None)
        raise UsageError(f"No model server answers on this machine (asked for: {names}).")
    server = servers[0] if args.local else _offer(servers)
    if server is None:
        return settings
    if not args.local:
        save_settings(server.settings)
    for name, value in server.settings.items():
        os.environ[f"MANUS_{name.upper()}"] = value
    args.local = False  # a conversation need not look again
    return read_settings()


def _offer(servers: list[LocalServer]) -> LocalServer | None:
    """Ask whether to use one of the servers; return None for none."""
    from manus.cli.choices import NO, Choice, ChoiceLine, set_aside_typed
    from manus.cli.notes import print_note

    if not servers:
        return None
    keys = ["y", *map(str, range(2, len(servers) + 1))]
    choices = []
    for key, server in zip(keys, servers, strict=True):
        choices.append(Choice(key, f"{server.settings['model']} ({server.title})", key))
    print_note("No model is configured. Use the server on this machine?")
    line = ChoiceLine((*choices, NO), default=choices[0])
    with set_aside_typed():
        try:
            while (answer := line.ask()) not in (*keys, NO.answer):
                pass
        except EOFError:
            return None
    return servers[keys.index(answer)] if answer in keys else None
