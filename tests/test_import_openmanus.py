"""Importing OpenManus's configuration."""

import json
import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from manus.config.settings import Settings, load_settings
from scripts.import_openmanus import translate
from tests.cli.program import Result

pytestmark = pytest.mark.exhaustive

_SCRIPT = Path(__file__).parents[1] / "scripts" / "import_openmanus.py"
_CONFIG = """\
[llm]
model = "qwen3:32b"
api_key = "sk-very-secret"
max_input_tokens = 100000
[llm.vision]
model = "gpt-4o"
api_key = "YOUR_API_KEY"
[browser]
headless = false
disable_security = true
proxy = { server = "http://proxy:3128" }
[search]
engine = "DuckDuckGo"
fallback_engines = ["DuckDuckGo", "Bing"]
[agent]
max_steps = 30
[history]
keep = 3
"""
_SERVERS = {
    "mcpServers": {
        "文件": {"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"KEY": "hidden"}},
        "socket": {"type": "ws", "url": "ws://localhost"},
    }
}


def import_settings(*options: str) -> Result:
    process = subprocess.run(
        [sys.executable, _SCRIPT, *options], capture_output=True, text=True, check=False
    )
    return Result(process.returncode, process.stdout, process.stderr)


@pytest.fixture
def openmanus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.toml").write_text(_CONFIG, encoding="utf-8")
    (tmp_path / "config/mcp.json").write_text(json.dumps(_SERVERS), encoding="utf-8")
    return import_settings


def test_imported_settings_are_valid_and_all_are_reported(
    openmanus: Callable[..., Result], subtests: pytest.Subtests
) -> None:
    result = openmanus()
    assert (result.code, result.err) == (0, "")
    file = Path("manus.toml")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    settings = load_settings({}, file)
    assert settings.model == "qwen3:32b"
    assert settings.api_key == SecretStr("sk-very-secret")
    assert (settings.max_steps, settings.budget.tokens) == (30, 100_000)
    assert settings.for_role("vision").model == "gpt-4o"
    assert settings.browser.headless is False
    assert settings.egress.upstream_proxy == "http://proxy:3128"
    assert settings.search.engines == ("duckduckgo",)
    assert settings.mcp["文件"].args == ("-y", "x")
    assert settings.mcp["文件"].variables == {"KEY": "hidden"}
    assert "\n  llm.vision.model: roles.vision.model\n" in result.out
    for theirs in ("llm.vision.api_key", "browser.disable_security", "history.keep"):
        with subtests.test(theirs=theirs):
            assert f"\n  {theirs}: skipped: " in result.out
    assert not re.search("secret|hidden", result.out)


def test_a_file_is_replaced_only_by_force(openmanus: Callable[..., Result]) -> None:
    file = Path("manus.toml")
    file.write_text("max_steps = 7\n")
    refused = openmanus()
    assert (refused.code, refused.out, "--force" in refused.err) == (2, "", True)
    assert file.read_text() == "max_steps = 7\n"
    assert openmanus("--output", "other.toml").code == 0
    assert openmanus("--force").code == 0
    assert [load_settings({}, f).max_steps for f in ("other.toml", file)] == [30, 30]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    Path("config/mcp.json").write_text('{"a": {')
    broken = openmanus("--force")
    assert (broken.code, broken.out, broken.err.count("\n")) == (2, "", 1)
    assert "config/mcp.json" in broken.err
    assert load_settings({}, file).max_steps == 30


def test_a_target_that_is_not_a_regular_file_is_written_to(
    openmanus: Callable[..., Result],
) -> None:
    pipe, read = Path("pipe"), list[str]()
    os.mkfifo(pipe, 0o640)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    result = openmanus("--output", "pipe")
    reader.join()
    assert (result.code, result.out) == (0, "")
    assert "llm.model: model" in result.err
    assert "max_steps = 30" in read[0]
    assert stat.filemode(pipe.stat().st_mode) == "prw-r-----"


def test_azure_deployments_and_placeholder_keys() -> None:
    address, version = "https://me.openai.azure.com", {"api_version": "2024-08-01-preview"}
    deployed = {"base_url": f"{address}/openai/deployments/mine", "api_key": "sk-..."}
    azure = {"api_type": "azure", "model": "gpt-4o-mini", **deployed, **version}
    settings, _ = translate({"llm": azure}, {})
    Settings.model_validate(settings)
    assert settings == {"model": "azure:mine", "base_url": address, **version}
