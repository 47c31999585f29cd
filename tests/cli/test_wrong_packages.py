"""Optional packages in a version that does not fit, or that fail when they are imported."""

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.program import Program
from tests.server import ScriptedServer, call, text


class Wrong(NamedTuple):
    """A package in front of the installed one, and a command that needs it."""

    package: str
    version: str
    source: str
    command: tuple[str, ...]
    user: str
    """What needs it, as the message names it."""
    remedy: str
    code: int = 1


RAISES = "raise TypeError('unsupported operand')"
RUN, CLAUDE = ("run", "hello"), ("run", "--model", "anthropic:claude-x", "hello")
BROWSE = ("run", "--profile", "browser", "browse")
SCHEMA = ("run", "hello", "--output-schema", "schema.json")
MCP, ANTHROPIC, ACP = "MCP servers", "`anthropic`", "Editors"
EXTRA_MCP, EXTRA_ANTHROPIC, EXTRA_ACP = "EXTRAS=mcp", "EXTRAS=anthropic", "EXTRAS=acp"
QUEUE, STORE = "A queue of runs", "A PostgreSQL store"
WRONG = {
    "mcp, old": Wrong("mcp", "0.9.0", "", RUN, MCP, EXTRA_MCP, 0),
    "mcp, without its parts": Wrong("mcp", "1.30", "", RUN, MCP, EXTRA_MCP, 0),
    "mcp, fails": Wrong("mcp", "1.30", RAISES, RUN, MCP, EXTRA_MCP, 0),
    "a provider, old": Wrong("langchain_anthropic", "0.1", "", CLAUDE, ANTHROPIC, EXTRA_ANTHROPIC),
    "a provider, fails": Wrong(
        "langchain_anthropic", "1.9", RAISES, CLAUDE, ANTHROPIC, EXTRA_ANTHROPIC
    ),
    "a provider, too new": Wrong(
        "langchain_anthropic",
        "9.0",
        "from langchain_core.messages import Newer",
        CLAUDE,
        ANTHROPIC,
        EXTRA_ANTHROPIC,
    ),
    "playwright": Wrong("playwright", "1.2", "", BROWSE, "The browser", "pip install --upg", 0),
    "playwright, doctor": Wrong("playwright", "1.2", "", ("doctor",), "The browser", "pip in"),
    "acp, old": Wrong("acp", "0.1", "", ("acp",), ACP, EXTRA_ACP, 2),
    "acp, fails": Wrong("acp", "0.1", RAISES, ("acp",), ACP, EXTRA_ACP, 2),
    "procrastinate": Wrong("procrastinate", "1.0", "", ("worker",), QUEUE, "pip install", 2),
    "psycopg": Wrong("psycopg", "2.0", "", ("threads",), STORE, "pip install lang", 2),
    "psycopg, fails": Wrong("psycopg", "3.0", RAISES, ("threads",), STORE, "pip install lang", 2),
    "jsonschema": Wrong("jsonschema", "0.1", "", SCHEMA, "--output-schema", "pip install", 2),
}


def put_in_front(folder: Path, wrong: Wrong) -> None:
    """Write a package, and the metadata of its version, into a folder of modules."""
    (folder / wrong.package).mkdir(parents=True)
    (folder / wrong.package / "__init__.py").write_text(wrong.source)
    name = "agent-client-protocol" if wrong.package == "acp" else wrong.package
    info = folder / f"{name.replace('-', '_')}-{wrong.version}.dist-info"
    info.mkdir()
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {wrong.version}\n"
    (info / "METADATA").write_text(about)


def test_one_sentence_names_the_package_and_the_remedy(
    manus: Program, server: ScriptedServer, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    (manus.home / "manus.toml").write_text("[mcp.x]\ncommand = 'true'\n")
    (manus.home / "schema.json").write_text('{"type": "object"}')
    browse = call("browser_use", action="go_to_url", url=server.base_url)
    for number, (name, wrong) in enumerate(WRONG.items()):
        with subtests.test(name=name):
            folder = tmp_path / f"packages{number}"
            put_in_front(folder, wrong)
            path = os.pathsep.join([str(folder), manus.environment["PYTHONPATH"]])
            variables = {"PYTHONPATH": path, "ANTHROPIC_API_KEY": "x"}
            if wrong.package in ("psycopg", "procrastinate"):
                variables["MANUS_CHECKPOINT"] = "postgresql://127.0.0.1:9/none"
            is_asked = wrong.code == 0 or wrong.command == ("doctor",)
            if is_asked:
                server.script(*([browse] if wrong.command == BROWSE else []))
                server.always(text("Hello."))
            result = manus.cold(*wrong.command, **variables)
            output = f"{result.out}{result.err}"
            if wrong.command == BROWSE:
                output = str(server.requests[-1].messages)
            [sentence] = [
                line for line in output.splitlines() if wrong.user in line and "need" in line
            ]
            package = wrong.package.replace("_", "-")
            assert package.replace("acp", "agent-client-protocol") in sentence
            assert f"of which {wrong.version} is installed and cannot be used" in sentence
            assert wrong.remedy in sentence
            assert result.code == wrong.code
            assert "Unexpected error" not in output
            if wrong.code == 0:
                assert "Hello." in result.out, "the run continues without that part"
