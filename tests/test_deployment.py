"""The setup of a checkout, and the definitions of the image and of the compose file."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from manus.config.settings import Settings
from manus.served import access_from

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "deployment.md").read_text("utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
# set by the program, or read by something other than the settings
OTHERS = {"MANUS_USER", "MANUS_PORT", "MANUS_MEMORY", "MANUS_TRUST"}
OTHERS |= {"MANUS_ALLOWED_HOSTS", "MANUS_SERVER_TOKEN", "MANUS_SERVED_ROOT"}

COMPOSE = (ROOT / "compose.yaml").read_text("utf-8")
DEPLOY = ROOT / "deploy"
AEGRA_COMPOSE = (DEPLOY / "compose.yaml").read_text("utf-8")


def test_the_dockerfile_is_up_to_date_and_the_image_has_no_secrets() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "write_deploy.py"), "--check"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, f"run scripts/write_deploy.py {process.stderr}"
    left_out = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert {".env", ".env.*", "manus.toml", "*.sqlite", ".git", "workspace"} <= set(left_out)
    needed = {"pyproject.toml", "langgraph.json", "graph", "nodes", "tools", "state", "prompts"}
    assert not needed & set(left_out)
    assert not re.search(r"(?i)(key|token|password)=", DOCKERFILE)


def test_only_this_machine_reaches_the_server_and_nobody_the_database_or_its_secrets(
    subtests: pytest.Subtests,
) -> None:
    compose: dict[str, Any] = yaml.safe_load(COMPOSE)
    services = compose["services"]
    [port] = services["server"]["ports"]
    assert re.fullmatch(r"127\.0\.0\.1:.*:8000", port)
    for name in ("postgres", "redis"):
        with subtests.test(name=name):
            assert "ports" not in services[name]
            assert services[name]["networks"] == ["inside"]
    assert compose["networks"]["inside"] == {"internal": True}
    for value in re.findall(r"^ *\w*(?:PASSWORD|KEY|TOKEN): *(.*)$", COMPOSE, re.MULTILINE):
        with subtests.test(value=value):
            assert value.startswith('"${')
    uri = services["server"]["environment"]["DATABASE_URI"]
    assert uri.startswith("postgres://manus:${POSTGRES_PASSWORD:?")


def test_the_page_lists_exactly_the_existing_variables() -> None:
    names = set(re.findall(r"^\| `(\w+)`", PAGE, re.MULTILINE))
    assert set(re.findall(r"\$\{(\w+)", COMPOSE + AEGRA_COMPOSE)) <= names
    ours = set(re.findall(r"\bMANUS_[A-Z_]+\b", PAGE + COMPOSE + AEGRA_COMPOSE)) - OTHERS
    assert {name.removeprefix("MANUS_").lower() for name in ours} <= set(Settings.model_fields)


@pytest.fixture
def aegra() -> dict[str, Any]:
    """Return the services of Aegra's compose file."""
    services: dict[str, Any] = yaml.safe_load(AEGRA_COMPOSE)["services"]
    return services


def test_nobody_reaches_aegra_without_the_token(
    aegra: dict[str, Any], subtests: pytest.Subtests
) -> None:
    ports = {name: service.get("ports", []) for name, service in aegra.items()}
    [port] = ports.pop("proxy")
    assert re.fullmatch(r"127\.0\.0\.1:.*:8123", port)
    assert not any(ports.values())
    for name in ("server-1", "server-2"):
        with subtests.test(name=name):
            assert aegra[name]["environment"]["MANUS_SERVER_TOKEN"].startswith(
                "${MANUS_SERVER_TOKEN:?"
            )
    for name in ("postgres", "redis"):
        with subtests.test(name=name):
            assert aegra[name]["networks"] == ["inside"]
    assert yaml.safe_load(AEGRA_COMPOSE)["networks"]["inside"] == {"internal": True}


def test_the_files_of_the_compose_file_agree(aegra: dict[str, Any]) -> None:
    server = aegra["server-1"]
    assert {**aegra["server-2"], "depends_on": server["depends_on"]} == server
    build = DEPLOY / server["build"]["context"] / server["build"]["dockerfile"]
    dockerfile = build.read_text("utf-8")
    assert (DEPLOY / aegra["proxy"]["volumes"][0].partition(":")[0]).exists()
    config = re.search(r"AEGRA_CONFIG=/deps/manus/(\S+)", dockerfile)
    assert config is not None
    assert (ROOT / config[1]).exists()
    caddy = (DEPLOY / "Caddyfile").read_text("utf-8")
    assert set(re.findall(r"([\w-]+):2026", caddy)) == {"server-1", "server-2"}
    assert '"--port", "2026"' in dockerfile
    health = {*re.findall(r"health_uri (\S+)", caddy), "/ready"}
    assert health <= access_from({}).open_paths
    drain = re.search(r":-(\d+)", server["environment"]["WORKER_DRAIN_TIMEOUT"])
    assert drain is not None
    assert int(server["stop_grace_period"].removesuffix("s")) > int(drain[1])


def test_the_pools_of_both_servers_fit_into_the_database(aegra: dict[str, Any]) -> None:
    environment = aegra["server-1"]["environment"]
    pools = ("LANGGRAPH_MAX_POOL_SIZE", "SQLALCHEMY_POOL_SIZE", "SQLALCHEMY_MAX_OVERFLOW")
    sizes = [int(re.findall(r":-(\d+)", environment[name])[0]) for name in pools]
    most = int(re.findall(r"max_connections=(\d+)", AEGRA_COMPOSE)[0])
    # during an update, a third instance may still be running
    assert 3 * (sum(sizes) + 5) < most


@pytest.mark.parametrize("token", ["", "secret"])
@pytest.mark.skipif(find_spec("aegra_api") is not None, reason="aegra-api is installed")
def test_aegra_is_not_served_without_a_token_or_its_package(token: str) -> None:
    program = "from manus.served import create_aegra_app; create_aegra_app()"
    environment = {**os.environ, "MANUS_SERVER_TOKEN": token}
    process = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    expected = "aegra-api is not installed" if token else "MANUS_SERVER_TOKEN is not set"
    assert process.returncode == 1
    assert process.stderr.startswith(expected)
    assert len(process.stderr.splitlines()) == 1


UV = """\
#!/bin/sh
mkdir ../busy 2>/dev/null || echo overlap >>../log
echo "$1 $2" >>../log
case $1 in venv) mkdir -p .venv/bin; ln -s "$(command -v python3)" .venv/bin/python;; esac
sleep 0.1  # what an installation takes
rmdir ../busy
"""


def test_two_concurrent_setups_do_not_interfere(tmp_path: Path) -> None:
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
    errors = [process.communicate(timeout=120)[1].decode() for process in both]
    assert [process.returncode for process in both] == [0, 0], errors
    log = (tmp_path / "log").read_text().splitlines()
    assert "overlap" not in log
    assert sum(line.startswith("venv") for line in log) == 1


def test_pythons_are_found_wherever_they_are_if_they_start(tmp_path: Path) -> None:
    """A version manager's shim may be on the PATH for a Python that is not selected."""
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
