"""Concurrent runs on `langgraph dev`, compared with a single run: wall time, CPU time and memory.

    python -m benchmarks.dev_server [--steps 20] [--latency 200] [--at-once 10] [--checkpoint URL]

The model is the scripted one of the other benchmarks, with the given latency in milliseconds. The
server is started once; a warm-up run, which is not counted, loads modules that are imported lazily.
With `--checkpoint` (a file or a postgresql:// URL) the server stores its threads there, as shown
in docs/deployment.md; otherwise it keeps them in memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.step_cost import Server
from benchmarks.task import request

_ROOT = Path(__file__).resolve().parents[1]
_PATIENCE = 60.0
"""Seconds within which the server has to start."""


@dataclass(frozen=True)
class Sample:
    """Concurrent runs: seconds of wall time, CPU time and memory of the server's process."""

    runs: int
    wall: float
    cpu: float
    memory: int
    """Resident set size in bytes after the runs."""


@contextmanager
def serving(folder: Path, address: str, checkpoint: str | None, jobs: int) -> Iterator[Any]:
    """Run `langgraph dev` with only the benchmark's graph; yield its process and address."""
    served: dict[str, Any] = {
        "dependencies": ["."],
        "graphs": {"bench": "benchmarks.dev_server_agent:graph"},
    }
    own = {"MANUS_MODEL": "bench", "MANUS_BASE_URL": f"{address}/v1"}
    if checkpoint is not None:
        served["checkpointer"] = {"path": "manus.served.checkpointer"}
        own["MANUS_CHECKPOINT"] = checkpoint
    (folder / "langgraph.json").write_text(json.dumps(served))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--port", str(port), "--no-browser", "--no-reload"]
    process = subprocess.Popen(
        [sys.executable, "-m", "langgraph_cli", "dev", *options, "--n-jobs-per-worker", str(jobs)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(_ROOT), "LANGGRAPH_CLI_NO_ANALYTICS": "1", **own},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process, f"http://127.0.0.1:{port}"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until the server answers."""
    limit = time.monotonic() + _PATIENCE
    while time.monotonic() < limit and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/ok", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    sys.exit("langgraph dev does not answer.")


async def at_once(url: str, pid: int, names: list[str], folder: Path) -> Sample:
    """Execute the runs concurrently, each on its own thread."""
    from langgraph_sdk import get_client

    server = psutil.Process(pid)
    context = {"workspace": str(folder / "workspace")}
    async with get_client(url=url, api_key=None) as client:
        threads = [(await client.threads.create())["thread_id"] for _ in names]
        used, began = sum(server.cpu_times()[:2]), time.monotonic()
        results: Any = await asyncio.gather(
            *(
                client.runs.wait(thread, "bench", input={"request": request(name)}, context=context)
                for thread, name in zip(threads, names, strict=True)
            )
        )
        wall = time.monotonic() - began
    assert {values["output"] for values in results} == {"done"}, results
    return Sample(len(names), wall, sum(server.cpu_times()[:2]) - used, server.memory_info().rss)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--latency", type=int, default=200, help="of the model, in milliseconds")
    parser.add_argument("--at-once", type=int, default=10)
    parser.add_argument("--checkpoint", help="a file, or a postgresql:// URL")
    args = parser.parse_args()
    model = Server()
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            with serving(folder, model.address, args.checkpoint, args.at_once) as (process, url):
                wait(url, process)
                sys.stdout.write("runs at once | wall s | CPU s | CPU ms a step | memory MB\n")
                for runs in (1, 1, args.at_once):
                    names = [model.new_run(args.steps, args.latency) for _ in range(runs)]
                    measured = asyncio.run(at_once(url, process.pid, names, folder))
                    each = 1000 * measured.cpu / (runs * (args.steps + 1))
                    sys.stdout.write(
                        f"{runs:12} | {measured.wall:6.1f} | {measured.cpu:5.1f} | {each:13.0f} | "
                        f"{measured.memory / 1e6:9.0f}\n"
                    )
    finally:
        model.close()


if __name__ == "__main__":
    main()
