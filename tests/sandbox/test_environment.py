"""No program or browser that a run starts inherits any of the user's keys."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import psutil
import pytest

from manus.calls.catalog import build_catalog
from manus.calls.session import Session
from manus.config.browser_settings import EgressSettings
from manus.config.run_settings import resolve_settings
from manus.config.settings import Settings
from manus.tools.browser_use import BrowserUse
from manus.tools.mcp import load_mcp_tools
from manus.tools.web.reader import parse
from tests.helpers.acting import execute_alone
from tests.helpers.sandboxes import Kind
from tests.mcp.conftest import ASKING, odd

KEYS = (
    *("MANUS_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "TAVILY_API_KEY"),
    *("LANGSMITH_API_KEY", "AWS_SECRET_ACCESS_KEY", "MANUS_SERVER_TOKEN", "GITHUB_TOKEN"),
)
SECRET = "sk-kept-from-all"
_DRIVER = "playwright/driver"  # it executes nothing from a page or a model


class Watch:
    """Records the processes that Python starts, and their environments."""

    def __init__(self) -> None:
        self.started: list[tuple[str, Mapping[Any, Any] | None]] = []
        self.is_on = True
        self._before = _family()  # such as the browser that other tests in this process share
        sys.addaudithook(self._hear)  # permanently: an audit hook cannot be removed

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if self.is_on and event == "subprocess.Popen":
            _, words, _, environment = args
            self.started.append((" ".join(map(str, words)), environment))

    def found(self) -> tuple[list[str], set[str]]:
        """Return all commands, and the names of living processes; assert that none has a key."""
        names, processes = set(), list(self.started)
        for process in _family() - self._before:
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                processes.append((str(process.cmdline()), process.environ()))
                names.add(process.name())
        for command, environment in processes:
            assert environment is not None, f"{command} inherits everything"
            assert SECRET not in str(environment) or _DRIVER in command, command
        return [command for command, _ in self.started], names


def _family() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    for name in KEYS:
        monkeypatch.setenv(name, SECRET)
    watch = Watch()
    yield watch
    watch.is_on = False


@pytest.mark.sandboxes
async def test_what_tools_start(
    session: Session, watch: Watch, sandbox_kind: Kind, subtests: pytest.Subtests
) -> None:
    calls: dict[str, dict[str, Any]] = {
        "bash": {"command": "env; cat /proc/self/environ /proc/$$/environ"},
        "python_execute": {"code": "print(open('/proc/self/environ').read())"},
    }
    for tool, args in zip(build_catalog(tuple(calls), session), calls.values(), strict=True):
        with subtests.test(tool=tool, args=args):
            output = (await execute_alone(session, tool, args, key=tool.name)).message
            assert output.status == "success", output.text
            assert SECRET not in str(output.content)
    commands, names = watch.found()
    assert "bash" in names
    probes = ("-- true", "config --includes")  # bubblewrap's, and that of the user's git settings
    started = [each for each in commands if not any(probe in each for probe in probes)]
    programs = ["bash", "python/"]
    if sandbox_kind == "bubblewrap":  # which has its own network
        programs = ["porter.py", *programs]
    pairs = zip(programs, started, strict=True)
    assert [program in command for program, command in pairs] == [True] * len(programs)


async def test_the_parser_of_pages_and_an_mcp_server(session: Session, watch: Watch) -> None:
    assert "Tea" in (await parse("html", "http://a/", b"<title>T</title><p>Tea")).text
    settings = Settings(mcp={"odd": odd(sandbox=False)})
    session.settings = resolve_settings(settings, profile=ASKING)
    await load_mcp_tools(build_catalog(ASKING.tools, session), session)
    commands, names = watch.found()
    assert (len(commands), len(names)) == (2, 1)


async def test_the_browser(session: Session, watch: Watch) -> None:
    egress = EgressSettings(allow_private=("127.0.0.1",))
    session.settings = replace(session.settings, egress=egress)
    page = session.workspace.writable("a.html")
    page.write_text("<p>Tea")
    args = {"action": "go_to_url", "url": page.as_uri()}
    output = (await execute_alone(session, BrowserUse(session=session), args)).message
    assert output.status == "success", output.text
    commands, names = watch.found()
    assert any("chrom" in name or "headless" in name for name in names), names
    assert any("node" in name for name in names), names
    assert len(commands) == 1
