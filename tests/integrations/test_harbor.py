"""A benchmark of Harbor with the wheel: an oracle, scores, tokens, a kill and a resume."""

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
_LIMIT = 1200
"""Seconds: ten trials, each with an installation, on a machine that does other work."""
WORDS = ("alpha", "beta", "gamma", "delta", "eta", "theta", "iota", "kappa", "lambda", "mu")
SCORES = {word: float(number % 2 == 0) for number, word in enumerate(WORDS)}
"""The model of the test solves every second task."""
MIDDLE = "eta"
"""Harbor is killed during this task."""


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


def script(server: ScriptedServer, check: str = "cat answer.txt") -> None:
    """Reply to the requests of each task; `check` is the second call in the middle."""
    for word, score in SCORES.items():

        def is_task(request: Request, word: str = word) -> bool:
            return f"the word {word} to" in str(request.messages)

        answer = word if score else "nothing"
        first = call("bash", command=f"echo {answer} > answer.txt")
        second = call("bash", command=check if word == MIDDLE else "cat answer.txt")
        server.when(is_task, first, second, call("terminate", status="success", answer="Written."))


def job_options(tasks: Path, trials: int = 2) -> list[str]:
    """Return the options of a job that runs this number of trials at the same time."""
    environment = "tests.integrations.overlay_environment:OverlayEnvironment"
    return ["--path", str(tasks), "--env", environment, "--n-concurrent", str(trials), "--quiet"]


def oracle(tasks: Path, out: Path) -> list[str]:
    """Return the command that runs each task's own solution."""
    options = ["--yes", "--jobs-dir", str(out.parent), "--job-name", out.name]
    program = [str(Path(sys.executable).with_name("harbor")), "run", "--agent", "oracle"]
    return [*program, *options, *job_options(tasks)]


def command(tasks: Path, out: Path, wheel: Path, trials: int = 2) -> list[str]:
    options = job_options(tasks, trials)
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


@pytest.mark.timeout(_LIMIT)
def test_the_solutions_of_the_tasks(tasks: Path, server: ScriptedServer, tmp_path: Path) -> None:
    variables = environment(server, tmp_path)
    out = tmp_path / "oracle"
    subprocess.run(oracle(tasks, out), env=variables, cwd=ROOT, check=True)
    assert scores(out) == dict.fromkeys(WORDS, 1.0)


@pytest.mark.timeout(3 * _LIMIT)
def test_scores_tokens_and_a_resume(
    tasks: Path, wheel: Path, server: ScriptedServer, tmp_path: Path
) -> None:
    """A job that is killed in the middle has the score of one that is not, for the same price.

    It runs one trial at a time: a reply that is on its way when Harbor is killed is paid again.
    """
    variables = environment(server, tmp_path)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    script(server)
    subprocess.run(command(tasks, whole, wheel), env=variables, cwd=ROOT, check=True)
    assert scores(whole) == SCORES
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
            command(tasks, killed, wheel, 1), env=variables, cwd=ROOT, start_new_session=True
        ) as process:
            try:
                listener.accept()[0].close()
            finally:
                os.killpg(process.pid, signal.SIGKILL)
    assert 0 < len(scores(killed)) < len(WORDS)
    subprocess.run(command(tasks, killed, wheel), env=variables, cwd=ROOT, check=True)
    assert scores(killed) == scores(whole)
    assert len(server.requests) == 2 * paid, "nothing is paid twice"
    for word, result in results(killed).items():
        used = results(whole)[word]["agent_result"]
        # also the replies that were reused; the call that waits is longer
        longer = result["agent_result"]["n_output_tokens"] - used["n_output_tokens"]
        assert longer > 0 if word == MIDDLE else longer == 0
