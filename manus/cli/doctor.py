"""What a run needs, looked for in turn. Nothing is changed, and no key is shown."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from manus.cli.findings import Finding
from manus.cli.model_check import find_model
from manus.cli.settings import read_settings
from manus.config.model_settings import shown_address
from manus.config.settings import Settings
from manus.execution.process import scrubbed
from manus.execution.sandbox.interpreter import own_python
from manus.runs.configuration import is_installed, resolve_workspace
from manus.state.errors import ManusError, SettingsError

_LOW = 1_000_000_000
"""Bytes that should be free on the workspace's disk."""
_SCRIPTS = {"Chinese": "zh-cn", "Japanese": "ja", "Korean": "ko"}
"""What few machines can draw by themselves, and how the font list names it."""
_OPEN = {
    "bubblewrap": "change the workspace",
    "landlock": "change the workspace, see the machine's processes",
}
"""By wall: what programs can still do."""


def examine() -> list[Finding]:
    """Look for everything."""
    findings = [Finding("python", "ok", f"{platform.python_version()} at {own_python()}")]
    try:
        settings = read_settings()
    except ManusError as error:
        remedy = "Mend the setting; until then the rest is looked at with the defaults."
        findings.append(Finding("settings", "missing", str(error), remedy))
        settings = Settings()
    checks = (find_model, _threads, _workspace, _sandbox, _browser, _fonts, _mcp, _tracing)
    return findings + [check(settings) for check in checks]


def _threads(settings: Settings) -> Finding:
    from manus.store.open_store import default_file, open_store

    async def place() -> str:
        async with open_store(settings) as store:
            await store.recent(1)
            return store.location

    found = partial(Finding, "threads")
    file = Path(settings.checkpoint or default_file())
    try:
        if "://" in str(settings.checkpoint) or file.exists():
            return found("ok", f"kept in {asyncio.run(place())}")
        _check_writable(file.parent)
    except ManusError as error:
        remedy = "Set MANUS_CHECKPOINT to a file that can be written, or to a postgresql:// URL."
        return found("missing", str(error), remedy)
    return found("ok", f"kept in {file} (made by the first run)")


def _check_writable(place: Path) -> Path:
    """The place itself, or the nearest folder above it that is there, which can be written to."""
    nearest = next(p for p in (place.absolute(), *place.absolute().parents) if p.exists())
    if not (nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)):
        raise SettingsError(f"{place} cannot be written to")
    return nearest


def _workspace(settings: Settings) -> Finding:
    found = partial(Finding, "workspace")
    place = Path(os.path.realpath(Path(resolve_workspace(settings)).expanduser()))
    try:
        nearest = _check_writable(place)
    except SettingsError as error:
        return found("missing", str(error), "Choose another with --workspace or MANUS_WORKSPACE.")
    text = f"{place}" if place.is_dir() else f"{place} (made by the first run)"
    if (free := shutil.disk_usage(nearest).free) < _LOW:
        return found("warning", f"{text}, with {free / 1e9:.1f} GB free", "Make room.")
    return found("ok", text)


def _sandbox(settings: Settings) -> Finding:
    """Which wall stands around programs, what it leaves open, and what a stronger one wants."""
    from manus.execution.environment.report import report_tools
    from manus.execution.sandbox.sandbox import try_wall

    found = partial(Finding, "sandbox")
    chosen = settings.sandbox
    try:
        wall, _, advice = try_wall(chosen)
    except ManusError as error:
        text, _, remedy = str(error).partition(". ")
        return found("missing", f"{text}.", remedy)
    if wall == "none":
        text = "none, as it is set: programs of the model can do what you can"
        return found("warning", text, "Leave MANUS_SANDBOX out.")
    network = {"rules": ", reach what [egress] allows", "open": ", reach the whole network"}
    text = f"{wall}: programs can still {_OPEN[wall]}{network.get(chosen.network, '')}"
    root = Path(os.path.realpath(Path(resolve_workspace(settings)).expanduser()))
    if told := report_tools(root, chosen).in_words():
        text += f". {told}"
    if advice is None:
        return found("ok", text)
    remedy = f"Bubblewrap keeps more out, but {advice.reason}: {advice.remedy}."
    return found("warning", text, remedy)


def _browser(settings: Settings) -> Finding:
    from playwright.sync_api import Error, sync_playwright

    from manus.tools.browser.engine import find_browser

    bundled = None
    with contextlib.suppress(Error, OSError), sync_playwright() as playwright:
        bundled = playwright.chromium.executable_path
    try:
        return Finding("browser", "ok", find_browser(settings.browser.path, bundled))
    except ManusError as error:
        return Finding("browser", "warning", "none found; only browser tools need one", str(error))


def _fonts(_: Settings) -> Finding:
    """Whether charts and screenshots can show Chinese, Japanese and Korean; other systems can."""
    names = []
    for name, code in _SCRIPTS.items() if sys.platform == "linux" else ():
        query = ["fc-list", f":lang={code}"]
        environment = scrubbed(os.environ)
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            if subprocess.run(query, capture_output=True, timeout=10, env=environment).stdout:
                continue
        names.append(name)
    if not names:
        return Finding("fonts", "ok", f"for {', '.join(_SCRIPTS)} too")
    text = f"none for {', '.join(names)} found: charts show boxes, or nothing, instead"
    remedy = "Install one, for example with `sudo apt install fontconfig fonts-noto-cjk`."
    return Finding("fonts", "warning", text, remedy)


def _mcp(settings: Settings) -> Finding:
    """The configured servers, as far as that can be said without starting or asking one."""
    from manus.tools.mcp import NOT_INSTALLED

    servers = {name: server for name, server in settings.mcp.items() if server.enabled}
    if not servers:
        return Finding("mcp", "ok", "no server is configured")
    if not is_installed("mcp"):
        return Finding("mcp", "warning", f"{len(servers)} configured", NOT_INSTALLED)
    problems = []
    for name, server in servers.items():
        if server.command is not None and shutil.which(server.command) is None:
            problems.append(f"{name}: there is no program `{server.command}`; install it.")
        try:
            server.variables(os.environ)
            server.all_headers(os.environ)
        except SettingsError as error:
            problems.append(f"{name}: {error}; set it, or leave it out of the settings.")
    text = f"{', '.join(servers)} (`manus mcp list` connects)"
    return Finding("mcp", "warning" if problems else "ok", text, "\n".join(problems))


def _tracing(_: Settings) -> Finding:
    """Where what runs do is sent to; nothing is sent to find out whether anybody takes it."""
    from manus.cli.logs import uses_langsmith

    found = partial(Finding, "tracing")
    if not uses_langsmith():
        return found("ok", "off: nothing is sent anywhere")
    if os.environ.get("LANGSMITH_TRACING_MODE", "langsmith").lower() == "langsmith":
        place = os.environ.get("LANGSMITH_ENDPOINT") or "its own address"
        return found("ok", f"LangSmith at {shown_address(place)}")
    place = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or "LangSmith"
    text = f"spans to {shown_address(place)}"
    if is_installed("opentelemetry.exporter.otlp.proto.http"):
        return found("ok", text)
    return found("warning", text, "OpenTelemetry is not installed: make setup EXTRAS=otel.")
