"""The set-up of a checkout, and the definitions of the image and of the compose file."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from manus.config.settings import Settings

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


def test_only_this_machine_reaches_the_server_and_nobody_the_database_or_its_secrets(
    subtests: pytest.Subtests,
) -> None:
    found: dict[str, Any] = yaml.safe_load(COMPOSE)
    services = found["services"]
    [port] = services["server"]["ports"]
    assert re.fullmatch(r"127\.0\.0\.1:.*:8000", port)
    for name in ("postgres", "redis"):
        with subtests.test(name=name):
            assert "ports" not in services[name]
            assert services[name]["networks"] == ["inside"]
    assert found["networks"]["inside"] == {"internal": True}
    for value in re.findall(r"^ *\w*(?:PASSWORD|KEY|TOKEN): *(.*)$", COMPOSE, re.MULTILINE):
        with subtests.test(value=value):
            assert value.startswith('"${')
    uri = services["server"]["environment"]["DATABASE_URI"]
    assert uri.startswith("postgres://manus:${POSTGRES_PASSWORD:?")


def test_the_page_tells_every_variable_and_no_other() -> None:
    told = set(re.findall(r"^\| `(\w+)`", PAGE, re.MULTILINE))
    assert set(re.findall(r"\$\{(\w+)", COMPOSE)) <= told
    ours = set(re.findall(r"\bMANUS_[A-Z_]+\b", PAGE + COMPOSE)) - OTHERS
    assert {name.removeprefix("MANUS_").lower() for name in ours} <= set(Settings.model_fields)


ROOT = Path(__file__).parents[1]
UV = """\
#!/bin/sh
mkdir ../busy 2>/dev/null || echo overlap >>../log
echo "$1 $2" >>../log
case $1 in venv) mkdir -p .venv/bin; ln -s "$(command -v python3)" .venv/bin/python;; esac
sleep 0.1  # what an installation takes
rmdir ../busy
"""


def test_two_at_once_do_not_meet(tmp_path: Path) -> None:
    folder, programs = tmp_path / "checkout", tmp_path / "bin"
    for part in ("scripts", "requirements"):
        shutil.copytree(ROOT / part, folder / part)
    shutil.copy(ROOT / "pyproject.toml", folder)
    programs.mkdir()
    (programs / "uv").write_text(UV)
    (programs / "uv").chmod(0o755)
    environment = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
    command = [str(folder / "scripts/setup.sh"), "run"]
    both = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for _ in range(2)]
    said = [process.communicate(timeout=120)[1].decode() for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    log = (tmp_path / "log").read_text().splitlines()
    assert "overlap" not in log
    assert sum(line.startswith("venv") for line in log) == 1


def test_pythons_are_found_wherever_they_are_if_they_start(tmp_path: Path) -> None:
    """A version manager's shim may be on the PATH for a Python that is not chosen."""
    starts = "#!/bin/sh\nexit 0\n"
    programs = {
        "bin/python3.11": starts,
        "bin/python3.12": "#!/bin/sh\necho 'command not found' >&2; exit 127\n",
        "pyenv/versions/3.12.9/bin/python": starts,
        "pyenv/versions/3.10.1/bin/python": starts,
        "uv/cpython-3.14.8-linux-x86_64-gnu/bin/python": starts,
    }
    for name, program in programs.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(program)
        path.chmod(0o755)
    tools = ("dirname", "sed", "cut", "xargs", "sh")
    for tool in tools:
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool) or "")
    environment = {
        "PATH": str(tmp_path / "bin"),
        "HOME": str(tmp_path),
        "PYENV_ROOT": str(tmp_path / "pyenv"),
        "UV_PYTHON_INSTALL_DIR": str(tmp_path / "uv"),
    }
    listed = subprocess.run(
        [ROOT / "scripts/setup.sh", "pythons"], env=environment, capture_output=True, check=True
    )
    assert listed.stdout.decode().splitlines() == [
        f"3.11 {tmp_path}/bin/python3.11",
        f"3.12 {tmp_path}/pyenv/versions/3.12.9/bin/python",
        f"3.14 {tmp_path}/uv/cpython-3.14.8-linux-x86_64-gnu/bin/python",
    ]
