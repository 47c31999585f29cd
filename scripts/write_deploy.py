"""Write `Dockerfile`, `deploy/Dockerfile` and `deploy/aegra.json` from `langgraph.json`.

    python scripts/write_deploy.py           # after a change of langgraph.json
    python scripts/write_deploy.py --check   # 1 if a file is not what it would write

`Dockerfile` is made by LangGraph's own command. It names the place of the code in the image after
the folder in which it runs; here that is always `manus`, whatever the clone is called.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
HEAD = "# Made by scripts/write_deploy.py from langgraph.json: change that one, not this.\n"
AEGRA = "aegra-api==0.11.*"
AEGRA_IMAGE = """\
FROM python:3.12-slim-bookworm

RUN pip install --no-cache-dir uv && mkdir /api && echo '{aegra}' > /api/constraints.txt
{lines}

COPY . /deps/manus
RUN uv pip install --system --no-cache-dir -c /api/constraints.txt aegra-api \\
    -e "/deps/manus[data,mcp,postgres]"
WORKDIR /deps/manus
ENV AEGRA_CONFIG=/deps/manus/deploy/aegra.json HOME=/home/manus
USER manus
EXPOSE 2026
# Open streams do not keep the server from draining: their clients join them on another instance.
CMD ["uvicorn", "--factory", "manus.served:create_aegra_app", "--host", "0.0.0.0", \\
    "--port", "2026", "--timeout-graceful-shutdown", "5"]
"""


def write_image() -> str:
    """Return the text of the Dockerfile of LangGraph's server."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "manus"
        folder.mkdir()
        for needed in ("langgraph.json", "pyproject.toml"):
            shutil.copy(ROOT / needed, folder)
        command = [sys.executable, "-m", "langgraph_cli", "dockerfile", "Dockerfile"]
        quiet = {**os.environ, "LANGGRAPH_CLI_NO_ANALYTICS": "1"}
        process = subprocess.run(
            command, cwd=folder, env=quiet, capture_output=True, text=True, check=False
        )
        if process.returncode:
            sys.exit(f"langgraph dockerfile failed: {process.stderr or process.stdout}")
        text = (folder / "Dockerfile").read_text()
    lines = [line.rstrip() for line in text.splitlines()]
    return HEAD + "\n".join(lines).rstrip() + "\n"


def write_aegra_image(config: dict[str, Any]) -> str:
    """Return the text of the Dockerfile of Aegra, with the same programs in the image."""
    lines = "\n".join(config["dockerfile_lines"])
    return HEAD + AEGRA_IMAGE.format(aegra=AEGRA, lines=lines)


def write_aegra_config(config: dict[str, Any]) -> str:
    """Return the text of Aegra's configuration, which names graphs by file."""
    graphs = {name: {**graph, "path": _as_file(graph["path"])} for name, graph in _graphs(config)}
    aegra = {
        "graphs": graphs,
        "http": {"cors": config["http"]["cors"]},
        "checkpointer": {"durability": "sync"},
    }
    return json.dumps(aegra, indent=2) + "\n"


def _graphs(config: dict[str, Any]) -> list[tuple[str, dict[str, str]]]:
    return list(config["graphs"].items())


def _as_file(path: str) -> str:
    """Return the path of a graph with the file of its module, relative to `deploy/`."""
    module, _, variable = path.partition(":")
    return f"../{module.replace('.', '/')}.py:{variable}"


def main() -> int:
    """Write the files, or compare."""
    config = json.loads((ROOT / "langgraph.json").read_text())
    files = {
        "Dockerfile": write_image(),
        "deploy/Dockerfile": write_aegra_image(config),
        "deploy/aegra.json": write_aegra_config(config),
    }
    if "--check" in sys.argv[1:]:
        stale = [name for name, text in files.items() if (ROOT / name).read_text() != text]
        sys.stderr.write(f"Not as langgraph.json says: {', '.join(stale)}\n" if stale else "")
        return int(bool(stale))
    for name, text in files.items():
        (ROOT / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
