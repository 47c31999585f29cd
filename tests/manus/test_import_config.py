"""`manus import-config`: OpenManus's files taken over."""

import json
import os
import stat
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from manus.commands.import_config import translate
from manus.state.settings import Settings, load_settings
from tests.manus.program import Result

_CONFIG = """\
[llm]
model = "qwen3:32b"
base_url = "http://localhost:11434/v1"
api_key = "sk-very-secret"
max_tokens = 4096
temperature = 0.0
max_input_tokens = 100000

[llm.vision]
model = "gpt-4o"
base_url = "https://api.openai.com/v1"
api_key = "YOUR_API_KEY"
max_input_tokens = 5

[browser]
headless = false
disable_security = true
cdp_url = ""

[browser.proxy]
server = "http://proxy:3128"
username = "me"

[search]
engine = "DuckDuckGo"
fallback_engines = ["DuckDuckGo", "Bing"]
lang = "zh"

[agent]
max_steps = 30

[sandbox]
use_sandbox = true

[mcp]
server_reference = "app.mcp.server"

[runflow]
use_data_analysis_agent = true

[daytona]
daytona_api_key = "d"

[history]
keep = 3
"""
_SERVERS = {
    "mcpServers": {
        "server1": {"type": "sse", "url": "http://localhost:8000/sse"},
        "文件": {"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"KEY": "hidden"}},
        "socket": {"type": "ws", "url": "ws://localhost"},
    }
}


@pytest.fixture
def openmanus(tmp_path: Path, typed: Callable[..., Result]) -> Callable[..., Result]:
    """The command in a folder of OpenManus's."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.toml").write_text(_CONFIG, encoding="utf-8")
    (tmp_path / "config/mcp.json").write_text(json.dumps(_SERVERS), encoding="utf-8")
    return partial(typed, "import-config")


def test_what_is_taken_is_ours_and_all_is_told(openmanus: Callable[..., Result]) -> None:
    before = os.umask(0)
    try:
        result = openmanus()
    finally:
        os.umask(before)
    assert (result.code, result.err) == (0, "")
    file = Path("manus.toml")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    settings = load_settings({}, file)
    assert (settings.model, settings.base_url) == ("qwen3:32b", "http://localhost:11434/v1")
    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == "sk-very-secret"
    assert (settings.max_tokens, settings.temperature, settings.max_steps) == (4096, 0.0, 30)
    assert settings.budget.tokens == 100_000
    assert settings.for_role("vision").model == "gpt-4o"
    assert settings.roles["vision"].api_key is None
    assert settings.browser.headless is False
    assert settings.egress.upstream_proxy == "http://proxy:3128"
    assert settings.search.engines == ("duckduckgo",)
    assert settings.mcp["server1"].kind == "sse"
    assert settings.mcp["文件"].args == ("-y", "x")
    assert settings.mcp["文件"].variables({}) == {"KEY": "hidden"}
    for theirs, ours in (
        ("llm.vision.model", "roles.vision.model"),
        ("agent.max_steps", "max_steps"),
        ("mcpServers.server1", "mcp.server1"),
    ):
        assert f"\n  {theirs}: {ours}\n" in result.out
    for theirs in (
        *("llm.vision.max_input_tokens", "llm.vision.api_key", "browser.disable_security"),
        *("browser.cdp_url", "browser.proxy.username", "search.lang", "mcpServers.socket"),
        *("sandbox.use_sandbox", "mcp.server_reference", "history.keep"),
    ):
        assert f"\n  {theirs}: not taken: " in result.out
    assert "secret" not in result.out
    assert "hidden" not in result.out


def test_a_file_that_is_there_is_replaced_only_by_force(
    openmanus: Callable[..., Result],
) -> None:
    file = Path("manus.toml")
    file.write_text("max_steps = 7\n")
    refused = openmanus()
    assert (refused.code, refused.out, "--force" in refused.err) == (2, "", True)
    assert file.read_text() == "max_steps = 7\n"
    assert openmanus("--output", "other.toml").code == 0
    assert openmanus("--force").code == 0
    assert [load_settings({}, f).max_steps for f in ("other.toml", file)] == [30, 30]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(("file", "content"), [("config.toml", "[llm\n"), ("mcp.json", '{"a": {')])
def test_a_broken_file_is_one_sentence(
    openmanus: Callable[..., Result], file: str, content: str
) -> None:
    Path("config", file).write_text(content)
    result = openmanus()
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert f"config/{file}" in result.err
    assert not Path("manus.toml").exists()


def ours(config: str) -> dict[str, Any]:
    done, _ = translate(tomllib.loads(config), {})
    Settings.model_validate(done)
    return done


def test_azure_has_its_deployment_in_the_address() -> None:
    done = ours(
        '[llm]\napi_type = "azure"\nmodel = "gpt-4o-mini"\napi_key = "k"\n'
        'base_url = "https://me.openai.azure.com/openai/deployments/mine"\n'
        'api_version = "2024-08-01-preview"'
    )
    assert done == {
        "model": "azure:mine",
        "base_url": "https://me.openai.azure.com",
        "api_version": "2024-08-01-preview",
        "api_key": "k",
    }


@pytest.mark.parametrize("value", ["YOUR_API_KEY", "<key>", "sk-...", ""])
def test_a_placeholder_is_not_a_key(value: str) -> None:
    done = ours(f'[llm]\nmodel = "m"\napi_key = "{value}"')
    assert done == {"model": "m"}
