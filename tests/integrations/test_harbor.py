"""A benchmark of Harbor with the wheel: scores, tokens, trajectories, a kill and a resume."""

import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.child import ROOT
from tests.server import Request, ScriptedServer, call

if os.geteuid() != 0:
    pytest.skip("Only root can mount an overlay and change the root.", allow_module_level=True)
pytest.importorskip("harbor", reason="Harbor is not installed; it needs Python 3.12 or newer.")
pytest.importorskip("hatchling", reason="hatchling builds the wheel.")

# The packages are those of this interpreter: nothing is downloaded.
INSTALL = f"""
{sys.executable} -m venv --without-pip /installed-agent/venv
site=$(echo /installed-agent/venv/lib/python*/site-packages)
echo {sysconfig.get_path("purelib")} > $site/packages.pth
{sys.executable} -m zipfile -e "${{PACKAGE%[*}}" $site
program='import sys; from manus.cli import main; sys.exit(main())'
printf '#!/installed-agent/venv/bin/python\\n%s\\n' "$program" > /installed-agent/venv/bin/manus
chmod +x /installed-agent/venv/bin/manus
"""
TASK = """
version = "1.0"
[environment]
[verifier]
timeout_sec = 60
[agent]
timeout_sec = 600
"""
VERIFY = """#!/bin/sh
grep -qx {word} /app/answer.txt && echo 1 > /logs/verifier/reward.txt && exit 0
echo 0 > /logs/verifier/reward.txt
"""
WAIT = "test -e /manus-replies/stopped || {{ touch /manus-replies/stopped; {signal}; sleep 300; }}"
"""A call during which Harbor is killed; when it is repeated, it returns at once."""
_LIMIT = 600
"""Seconds: six trials, each with an installation."""
WORDS = ("alpha", "beta", "gamma")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    subprocess.run([*build, str(folder)], cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    for word in WORDS:
        folder = tmp_path / "tasks" / f"write-{word}"
        for part in ("environment", "solution", "tests"):
            (folder / part).mkdir(parents=True)
        (folder / "task.toml").write_text(TASK)
        (folder / "instruction.md").write_text(f"Write the word {word} to answer.txt.\n")
        (folder / "environment" / "Dockerfile").write_text("FROM scratch\n")
        (folder / "tests" / "test.sh").write_text(VERIFY.format(word=word))
        (folder / "solution" / "solve.sh").write_text(f"#!/bin/sh\necho {word} > /app/answer.txt\n")
    return tmp_path / "tasks"


def script(server: ScriptedServer, gamma: str = "cat answer.txt") -> None:
    """Solve every second task."""
    for number, word in enumerate(WORDS):

        def is_task(request: Request, word: str = word) -> bool:
            return f"the word {word} to" in str(request.messages)

        answer = word if number % 2 == 0 else "nothing"
        first = call("bash", command=f"echo {answer} > answer.txt")
        second = call("bash", command=gamma if word == "gamma" else "cat answer.txt")
        server.when(is_task, first, second, call("terminate", status="success", answer="Written."))


def command(tasks: Path, out: Path, wheel: Path) -> list[str]:
    environment = "tests.integrations.overlay_environment:OverlayEnvironment"
    options = ["--path", str(tasks), "--env", environment, "--n-concurrent", "2", "--quiet"]
    options += ["--agent-kwarg", f"install={INSTALL}", "--model", "openai/scripted"]
    # the trials of a job share the compiled modules
    options += ["--agent-env", "PYTHONPYCACHEPREFIX=/manus-replies/compiled"]
    program = [sys.executable, "-m", "integrations.harbor", "--out", str(out)]
    return [*program, "--wheel", str(wheel), *options]


def environment(server: ScriptedServer, home: Path) -> dict[str, str]:
    address = {"MANUS_BASE_URL": server.base_url, "OPENAI_API_KEY": "key-of-the-test"}
    address |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HARBOR_TELEMETRY": "0"}
    return {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT), **address}


def results(out: Path) -> dict[str, Any]:
    read = [json.loads(file.read_text()) for file in out.glob("*/result.json")]
    return {result["task_name"].rpartition("-")[2]: result for result in read}


def scores(out: Path) -> dict[str, float]:
    return {
        word: result["verifier_result"]["rewards"]["reward"]
        for word, result in results(out).items()
    }


@pytest.mark.timeout(2 * _LIMIT)
def test_scores_tokens_and_a_resume(
    tasks: Path, wheel: Path, server: ScriptedServer, tmp_path: Path
) -> None:
    """A job that is killed in the middle has the score of one that is not, for the same price."""
    variables = environment(server, tmp_path)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    script(server)
    subprocess.run(command(tasks, whole, wheel), env=variables, cwd=ROOT, check=True)
    assert scores(whole) == {"alpha": 1.0, "beta": 0.0, "gamma": 1.0}
    paid = len(server.requests)
    assert paid == 3 * len(WORDS)
    for result in results(whole).values():
        used = result["agent_result"]
        assert used["n_input_tokens"] > used["n_output_tokens"] > 0
        assert used["model_usage"], "Harbor reads the trajectory"
        assert result["exception_info"] is None
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(_LIMIT)
        port = listener.getsockname()[1]
        script(server, WAIT.format(signal=f"echo > /dev/tcp/127.0.0.1/{port}"))
        with subprocess.Popen(
            command(tasks, killed, wheel), env=variables, cwd=ROOT, start_new_session=True
        ) as process:
            try:
                listener.accept()[0].close()
            finally:
                os.killpg(process.pid, signal.SIGKILL)
    assert len(scores(killed)) < len(WORDS)
    subprocess.run(command(tasks, killed, wheel), env=variables, cwd=ROOT, check=True)
    assert scores(killed) == scores(whole)
    assert len(server.requests) == 2 * paid, "nothing is paid twice"
    for word, result in results(killed).items():
        used = results(whole)[word]["agent_result"]
        # also the replies that were reused; the call that waits is longer
        assert result["agent_result"]["n_output_tokens"] >= used["n_output_tokens"]
