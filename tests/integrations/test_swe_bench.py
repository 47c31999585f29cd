"""Predictions for SWE-bench from small repositories: patches, a kill, and a resume."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.helpers.child import ROOT
from tests.server import Request, ScriptedServer, call

NAMES = ("org__first-1", "org__second-2")
CHANGE = "sed -i s/old/new/ a.py; echo added > new.txt; git add -A"


def prepare(folder: Path) -> Path:
    for name in NAMES:
        checkout = folder / "checkouts" / name
        checkout.mkdir(parents=True)
        (checkout / "a.py").write_text(f"print('old {name}')\n")
        identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "One"]):
            subprocess.run(["git", *command], cwd=checkout, check=True)
    lines = [{"instance_id": n, "problem_statement": f"Say new in {n}."} for n in NAMES]
    file = folder / "instances.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def test_predictions_are_resumed(server: ScriptedServer, tmp_path: Path) -> None:
    instances = prepare(tmp_path)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "integrations.swe_bench", str(instances), "--workers", "2"]
    command += ["--checkouts", str(tmp_path / "checkouts"), "--out", str(out)]
    command += ["--", "--profile", "swe", "--model", "scripted"]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "MANUS_BASE_URL": server.base_url,
        "MANUS_SANDBOX": "none",
    }
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(120)
        signals = f"echo > /dev/tcp/127.0.0.1/{listener.getsockname()[1]}; sleep 300"
        for name in NAMES:

            def is_for(request: Request, name: str = name) -> bool:
                return f"Say new in {name}." in str(request.messages)

            ends = call("terminate", status="success", answer="Changed.")
            server.when(is_for, call("bash", command=CHANGE), call("bash", command=signals), ends)
        with subprocess.Popen(
            command, env=environment, cwd=ROOT, start_new_session=True
        ) as process:
            try:
                for _ in NAMES:
                    listener.accept()[0].close()
            finally:
                os.killpg(process.pid, signal.SIGKILL)
    assert not (out / "predictions.jsonl").exists()
    subprocess.run(command, env=environment, cwd=ROOT, check=True)
    assert len(server.requests) == 3 * len(NAMES), "no reply is requested twice"
    lines = (out / "predictions.jsonl").read_text().splitlines()
    predictions = {line["instance_id"]: line for line in map(json.loads, lines)}
    assert set(predictions) == set(NAMES)
    for name in NAMES:
        patch = predictions[name]["model_patch"]
        assert f"-print('old {name}')\n+print('new {name}')\n" in patch
        assert "+added" in patch
        checkout = tmp_path / "checkouts" / name
        subprocess.run(
            ["git", "apply", "--check", "-"], input=patch, text=True, cwd=checkout, check=True
        )
    subprocess.run(command, env=environment, cwd=ROOT, check=True)
    assert len((out / "predictions.jsonl").read_text().splitlines()) == len(NAMES)
