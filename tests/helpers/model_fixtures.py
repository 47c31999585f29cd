"""A second model server, to be asked when the first one fails."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.agent import ScriptedAgent
from tests.server import ScriptedServer


@pytest.fixture
def second(new_server: Callable[[], ScriptedServer], tmp_path: Path) -> ScriptedServer:
    """Another server, configured as the fallback."""
    other = new_server()
    fallback = f'fallback = [{{model = "other", base_url = "{other.base_url}"}}]'
    (tmp_path / "manus.toml").write_text(fallback)
    return other


@pytest.fixture
def configured(agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch) -> ScriptedAgent:
    """The main endpoint comes from the settings: a run's own address has no fallback."""
    monkeypatch.setenv("MANUS_BASE_URL", agent.server.base_url)
    monkeypatch.setenv("MANUS_API_KEY", "sk-main")
    return agent
