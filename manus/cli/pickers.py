"""Pick the model, profile or thread of a conversation."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from manus.cli.model_check import list_models
from manus.cli.notes import print_note
from manus.cli.picker import Picker, Row
from manus.cli.settings import read_settings, with_store
from manus.config.model_settings import ModelSettings, split_spec
from manus.config.provider_table import DEFAULT_MODEL, DEFAULT_PROVIDER
from manus.prompts.formatting import fit, span
from manus.state.errors import StorageError, UsageError
from manus.threads.thread_id import NEWEST

if TYPE_CHECKING:
    from manus.config.settings import Settings
    from manus.threads.base import Store
    from manus.threads.thread_list import Thread

_MAX_THREADS = 50
_MAX_FOLDER = 14
"""Columns of a folder's name."""


def pick_model(current: str | None) -> str | None:
    """Ask for one of the models of the server; return None for no change. Blocking."""
    from manus.runs.configuration import select_main_endpoint

    settings = read_settings()
    endpoint = select_main_endpoint(settings, current)
    names = _list_names(endpoint)
    if not names:
        return None
    width = max(map(len, names))
    rows = [Row(name, f"{name:<{width}}  {_describe(name, endpoint, settings)}") for name in names]
    return Picker(rows, current=endpoint.model or DEFAULT_MODEL).ask()


def check_listed(name: str) -> None:
    """Check that the server of a model lists it, if it lists any. Blocking.

    Raises:
        UsageError: it lists only others.
    """
    from manus.runs.configuration import select_main_endpoint

    names = _list_names(select_main_endpoint(read_settings(), name))
    if names and split_spec(name)[1] not in names:
        close_names = difflib.get_close_matches(name, names, n=3, cutoff=0.4) or names[:5]
        raise UsageError(f"The server has no model {name}; it lists {', '.join(close_names)}, …")


def _list_names(endpoint: ModelSettings) -> Sequence[str]:
    provider, _ = split_spec(endpoint.model or DEFAULT_MODEL)
    has_list = provider == DEFAULT_PROVIDER and (endpoint.base_url or endpoint.api_key)
    return list_models(endpoint).names if has_list else ()


def _describe(name: str, endpoint: ModelSettings, settings: Settings) -> str:
    """Return the context window that a run assumes, and the price per million tokens."""
    from manus.models.prices import find_price
    from manus.models.tokens import get_window

    endpoint = endpoint.model_copy(update={"model": name})
    window = f"{get_window(endpoint) // 1000:>5}k context"
    price = find_price(settings, endpoint)
    if price is None:
        return window
    sent, received = price.cost(1_000_000, 0, 0), price.cost(0, 1_000_000, 0)
    return f"{window}, {settings.currency}{sent:.2f} in, {settings.currency}{received:.2f} out"


def pick_profile(current: str | None) -> str | None:
    """Ask for an agent profile; return None for no change. Blocking."""
    from manus.graph.profiles import all_profiles

    read_settings()  # first, to report errors in other settings before those in profiles
    profiles = all_profiles()
    width = max(map(len, profiles))
    rows = [Row(name, f"{name:<{width}}  {each.description}") for name, each in profiles.items()]
    return Picker(rows, current=current or read_settings().profile).ask()


def pick_thread(current: str) -> str | None:
    """Ask for one of the newest threads; return None for none. Blocking."""
    threads = with_store(_read_threads)
    if not threads:
        print_note("There are no threads yet.")
        return None
    return _pick_thread(threads, current)


def pick_newest(workspace: str) -> str | None:
    """Return the newest thread, or ask for one if that works in another folder. Blocking.

    Return None if the user leaves the list.
    """
    threads = with_store(_read_threads)
    if len(threads) < 2 or threads[0].workspace == workspace:
        return NEWEST
    here = [thread for thread in threads if thread.workspace == workspace]
    return _pick_thread(threads, (here or threads)[0].thread_id)


def _pick_thread(threads: Sequence[Thread], current: str) -> str | None:
    names = [Path(thread.workspace or "").name for thread in threads]
    width = min(max(map(len, names)), _MAX_FOLDER) if len(set(names)) > 1 else 0
    now = datetime.now(UTC)
    rows = []
    for thread, name in zip(threads, names, strict=True):
        age = span(max((now - thread.updated).total_seconds(), 0))
        folder = f"{fit(name, width):<{width}}  " if width else ""
        label = f"{age:>11}  {thread.status:<12}  {folder}{thread.request}"
        rows.append(Row(thread.thread_id, label))
    return Picker(rows, current=current).ask()


async def _read_threads(store: Store) -> list[Thread]:
    from manus.threads.thread_list import read_threads

    threads = []
    async for _, thread in read_threads(store, await store.recent(_MAX_THREADS)):
        if thread is not None and not isinstance(thread, StorageError):
            threads.append(thread)
    return threads
