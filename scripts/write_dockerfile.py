"""Write `Dockerfile` anew from `langgraph.json`, with LangGraph's own command.

    python scripts/write_dockerfile.py           # after a change of langgraph.json
    python scripts/write_dockerfile.py --check   # 1 if the file is not what it would write

The command names the place of the code in the image after the folder in which it runs; here that
is always `manus`, whatever the clone is called.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAD = "# Made by scripts/write_dockerfile.py from langgraph.json: change that one, not this.\n"


def written() -> str:
    """Return the text of the Dockerfile."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "manus"
        folder.mkdir()
        for needed in ("langgraph.json", "pyproject.toml"):
            shutil.copy(ROOT / needed, folder)
        command = [sys.executable, "-m", "langgraph_cli", "dockerfile", "Dockerfile"]
        quiet = {**os.environ, "LANGGRAPH_CLI_NO_ANALYTICS": "1"}
        done = subprocess.run(
            command, cwd=folder, env=quiet, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"langgraph dockerfile failed: {done.stderr or done.stdout}")
        text = (folder / "Dockerfile").read_text()
    lines = [line.rstrip() for line in text.splitlines()]
    return HEAD + "\n".join(lines).rstrip() + "\n"


def main() -> int:
    """Write it, or compare."""
    target = ROOT / "Dockerfile"
    if "--check" in sys.argv[1:]:
        return 0 if target.read_text() == written() else 1
    target.write_text(written())
    return 0


if __name__ == "__main__":
    sys.exit(main())
