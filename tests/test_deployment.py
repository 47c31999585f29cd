"""The image's and the compose file's definitions: fresh, well-formed, and as the page says."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from manus.state.settings import Settings

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "deployment.md").read_text("utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
# set by the program, or read by something else than the settings
OTHERS = {"MANUS_USER", "MANUS_PORT", "MANUS_MEMORY", "MANUS_TRUST"}
OTHERS |= {"MANUS_ALLOWED_HOSTS", "MANUS_SERVER_TOKEN", "MANUS_SERVED_ROOT"}


COMPOSE = (ROOT / "compose.yaml").read_text("utf-8")


def test_the_dockerfile_is_fresh_and_no_secret_gets_into_the_image() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "write_dockerfile.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run scripts/write_dockerfile.py {done.stderr}"
    left_out = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert {".env", ".env.*", "manus.toml", "*.sqlite", ".git", "workspace"} <= set(left_out)
    needed = {"pyproject.toml", "langgraph.json", "graph", "nodes", "tools", "state", "prompts"}
    assert not needed & set(left_out)
    assert not re.search(r"(?i)(key|token|password)=", DOCKERFILE)


def test_only_this_machine_reaches_the_server_and_nobody_the_database_or_its_secrets() -> None:
    found: dict[str, Any] = yaml.safe_load(COMPOSE)
    services = found["services"]
    [port] = services["server"]["ports"]
    assert re.fullmatch(r"127\.0\.0\.1:.*:8000", port)
    for name in ("postgres", "redis"):
        assert "ports" not in services[name]
        assert services[name]["networks"] == ["inside"]
    assert found["networks"]["inside"] == {"internal": True}
    for value in re.findall(r"^ *\w*(?:PASSWORD|KEY|TOKEN): *(.*)$", COMPOSE, re.MULTILINE):
        assert value.startswith('"${')
    uri = services["server"]["environment"]["DATABASE_URI"]
    assert uri.startswith("postgres://manus:${POSTGRES_PASSWORD:?")


def test_the_page_tells_every_variable_and_no_other() -> None:
    told = set(re.findall(r"^\| `(\w+)`", PAGE, re.MULTILINE))
    assert set(re.findall(r"\$\{(\w+)", COMPOSE)) <= told
    ours = set(re.findall(r"\bMANUS_[A-Z_]+\b", PAGE + COMPOSE)) - OTHERS
    assert {name.removeprefix("MANUS_").lower() for name in ours} <= set(Settings.model_fields)
