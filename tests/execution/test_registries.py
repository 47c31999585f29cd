"""The hosts of package registries, as configured for the user's pip and npm."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from manus.execution.network import registries
from manus.execution.network.registries import find_registry_hosts


@pytest.fixture(autouse=True)
def asked_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Clear both caches for each test, which has its own settings."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("npm_config_userconfig", str(tmp_path / "npmrc"))
    registries._run_command.cache_clear()
    yield
    registries._run_command.cache_clear()


async def test_configured_indexes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://user:word@a.example/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://b.example/x http://c.example:81/y")
    assert await find_registry_hosts(tmp_path) >= {"a.example", "b.example", "c.example"}


async def test_pips_default_index_and_file_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails first if pip renames its internal function."""
    monkeypatch.setenv("PATH", "")
    hosts = await find_registry_hosts(tmp_path)
    assert len(hosts) == 2, hosts


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not here")
async def test_registries_of_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "npmrc").write_text(
        "registry=https://n.example/\n@kite:registry=https://k.example/npm/\n"
        "//k.example/npm/:_authToken=word\n"
    )
    assert await find_registry_hosts(tmp_path / "w") >= {"n.example", "k.example"}


async def test_no_program_of_the_workspace_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pip", "npm"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        program.chmod(0o755)
    (tmp_path / "link").symlink_to(tmp_path / "bin")
    folders = [str(tmp_path / "bin"), str(tmp_path / "link"), "", "."]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    monkeypatch.chdir(tmp_path / "bin")
    await find_registry_hosts(tmp_path)
    assert not (tmp_path / "ran").exists()
