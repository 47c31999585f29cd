"""A second model server, as a fallback for the first one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.agent import ScriptedAgent
from tests.server import ScriptedServer


@pytest.fixture
def second(new_server: Callable[[], ScriptedServer], tmp_path: Path) -> ScriptedServer:
    """Provide another server, configured as the fallback."""
    other = new_server()
    fallback = f'fallback = [{{model = "other", base_url = "{other.base_url}"}}]'
    (tmp_path / "manus.toml").write_text(fallback)
    return other


@pytest.fixture
def configured(agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch) -> ScriptedAgent:
    """Take the main endpoint from the settings: an address given to a run has no fallback."""
    monkeypatch.setenv("MANUS_BASE_URL", agent.server.base_url)
    monkeypatch.setenv("MANUS_API_KEY", "sk-main")
    return agent
