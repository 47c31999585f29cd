"""`manus import-config`: OpenManus's files taken over."""

import json
import os
import stat
import tomllib
from typing import Any

import pytest

from manus.commands.import_config import translate
from manus.state.settings import Settings, load_settings
from tests.manus.program import Program

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
def openmanus(bare: Program) -> Program:
    """A folder of OpenManus's, with the program in it."""
    config = bare.home / "config"
    config.mkdir()
    (config / "config.toml").write_text(_CONFIG, encoding="utf-8")
    (config / "mcp.json").write_text(json.dumps(_SERVERS), encoding="utf-8")
    return bare


def settings_of(program: Program) -> Settings:
    return load_settings({}, program.home / "manus.toml")


def test_what_is_written_are_our_settings(openmanus: Program) -> None:
    result = openmanus("import-config")
    assert (result.code, result.err) == (0, "")
    settings = settings_of(openmanus)
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


def test_what_was_taken_and_what_was_not_is_listed_without_secrets(openmanus: Program) -> None:
    out = openmanus("import-config").out
    for theirs, ours in (
        ("llm.model", "model"),
        ("llm.vision.model", "roles.vision.model"),
        ("agent.max_steps", "max_steps"),
        ("mcpServers.server1", "mcp.server1"),
        ("browser.proxy.server", "egress.upstream_proxy"),
    ):
        assert f"\n  {theirs}: {ours}\n" in out
    for theirs in (
        *("llm.vision.max_input_tokens", "llm.vision.api_key", "browser.disable_security"),
        *("browser.cdp_url", "browser.proxy.username", "search.lang", "mcpServers.socket"),
        *("sandbox.use_sandbox", "mcp.server_reference", "history.keep"),
    ):
        assert f"\n  {theirs}: not taken: " in out
    assert "secret" not in out
    assert "hidden" not in out


def test_nobody_else_can_read_it(openmanus: Program) -> None:
    before = os.umask(0)
    try:
        openmanus("import-config")
        openmanus("import-config", "--force")
    finally:
        os.umask(before)
    file = openmanus.home / "manus.toml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {path.name for path in openmanus.home.iterdir()} >= {"config", "manus.toml"}
    assert not list(openmanus.home.glob(".manus.toml*"))


def test_a_file_that_is_there_is_replaced_only_by_force(openmanus: Program) -> None:
    file = openmanus.home / "manus.toml"
    file.write_text("max_steps = 7\n")
    refused = openmanus("import-config")
    assert (refused.code, refused.out) == (2, "")
    assert "--force" in refused.err
    assert file.read_text() == "max_steps = 7\n"
    assert openmanus("import-config", "--output", "other.toml").code == 0
    assert load_settings({}, openmanus.home / "other.toml").max_steps == 30
    assert openmanus("import-config", "--force").code == 0
    assert settings_of(openmanus).max_steps == 30


@pytest.mark.parametrize(
    ("file", "content"), [("config.toml", b"[llm\n"), ("mcp.json", b'{"mcpServers": {')]
)
def test_a_broken_file_is_one_sentence(openmanus: Program, file: str, content: bytes) -> None:
    (openmanus.home / "config" / file).write_bytes(content)
    result = openmanus("import-config")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert f"config/{file}" in result.err
    assert not (openmanus.home / "manus.toml").exists()


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
