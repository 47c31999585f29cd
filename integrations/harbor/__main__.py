"""Run a benchmark of Harbor with this agent; the same command goes on with a job that was stopped.

Everything except `--out` and `--wheel` is an option of `harbor run`, for example
`--dataset terminal-bench@2.0 --model openai/gpt-5.2 --n-concurrent 8`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from integrations.harbor.replies import MOUNTED

_ROOT = Path(__file__).resolve().parents[2]
_HARBOR = Path(sys.executable).with_name("harbor")


def main() -> int:
    """Start or resume the job in `--out`, and return Harbor's exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m integrations.harbor",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the job")
    parser.add_argument("--wheel", type=Path, help="wheel of manus; else it is downloaded")
    args, options = parser.parse_known_args()
    out = args.out.resolve()
    command = ["job", "resume", "--job-path", str(out)]
    if not (out / "config.json").exists():
        command = ["run", *_new_job(out, args.wheel), *options]
    path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run([str(_HARBOR), *command], env=environment, check=False).returncode


def _new_job(out: Path, wheel: Path | None) -> list[str]:
    """Return the options of a job whose paid replies outlive it."""
    replies = out.with_name(f"{out.name}.replies")
    replies.mkdir(parents=True, exist_ok=True)
    mount = {"type": "bind", "source": str(replies), "target": str(MOUNTED)}
    options = ["--yes", "--jobs-dir", str(out.parent), "--job-name", out.name]
    options += ["--agent", "integrations.harbor.agent:Manus", "--mounts", json.dumps([mount])]
    options += ["--agent-kwarg", f"replies={replies}"]
    if wheel is not None:
        options += ["--agent-kwarg", f"wheel={wheel.resolve()}"]
    return options


if __name__ == "__main__":
    sys.exit(main())
