"""Check everything a run needs. Nothing is changed, and no key is shown."""

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

from manus.cli.findings import CheckResult
from manus.cli.model_check import check_main_model
from manus.cli.settings import read_settings
from manus.config.model_settings import shown_address
from manus.config.packages import import_optional
from manus.config.settings import Settings
from manus.prompts.formatting import size as format_size
from manus.runs.configuration import is_installed, resolve_workspace
from manus.sandbox.host_programs import find_host_program
from manus.sandbox.interpreter import get_own_python
from manus.sandbox.process import build_host_environment
from manus.state.errors import ManusError, SettingsError
from manus.tools.browser import NEEDS

_MIN_FREE = 1_000_000_000
"""Bytes that should be free on the disk of the workspace."""
_SCRIPTS = {"Chinese": "zh-cn", "Japanese": "ja", "Korean": "ko"}
"""Scripts for which machines often lack fonts, with their codes for `fc-list`."""
_REMAINING_ACCESS = {
    "bubblewrap": "change the workspace",
    "landlock": "change the workspace, see the machine's processes",
}
"""By sandbox: what programs can still do."""


def run_checks() -> list[CheckResult]:
    """Run all checks and return their findings."""
    findings = [CheckResult("python", "ok", f"{platform.python_version()} at {get_own_python()}")]
    try:
        settings = read_settings()
    except ManusError as error:
        remedy = "Correct the setting; the other checks use the defaults until then."
        findings.append(CheckResult("settings", "missing", str(error), remedy))
        settings = Settings()
    checks = (
        check_main_model,
        _threads,
        _storage,
        _workspace,
        _sandbox,
        check_browser,
        _fonts,
        _mcp,
        _tracing,
    )
    return findings + [check(settings) for check in checks]


def _threads(settings: Settings) -> CheckResult:
    from manus.threads.open_store import default_file, open_store

    async def find_location() -> str:
        async with open_store(settings) as store:
            await store.recent(1)
            return f"{store.location} ({format_size(await store.total_size())} with journals)"

    finding = partial(CheckResult, "threads")
    file = Path(settings.checkpoint or default_file())
    try:
        if "://" in str(settings.checkpoint) or file.exists():
            return finding("ok", f"stored in {asyncio.run(find_location())}")
        _check_writable(file.parent)
    except ManusError as error:
        remedy = "Set MANUS_CHECKPOINT to a file that can be written, or to a postgresql:// URL."
        return finding("missing", str(error), remedy)
    return finding("ok", f"stored in {file} (created by the first run)")


def _storage(settings: Settings) -> CheckResult:
    """Report how much is stored outside of the store of threads."""
    from platformdirs import user_cache_path

    from manus.config.files import state_folder
    from manus.threads.snapshots.rewinding import SNAPSHOTS
    from manus.workspace.workspace import OBSERVATIONS

    records = state_folder() / "workspaces"
    workspace = Path(resolve_workspace(settings)).expanduser().absolute()
    snapshots = sum(map(_measure, records.glob(f"*/{SNAPSHOTS}")))
    parts = {
        f"file snapshots in {records}": snapshots,
        "other records there": _measure(records) - snapshots,
        f"kept outputs in {workspace / OBSERVATIONS}": _measure(workspace / OBSERVATIONS),
        f"caches in {user_cache_path('manus')}": _measure(user_cache_path("manus")),
    }
    lines = [f"{format_size(size)} of {name}" for name, size in parts.items()]
    return CheckResult("storage", "ok", "\n".join(lines))


def _measure(folder: Path) -> int:
    """Return the size of the files below a folder; unreadable ones are skipped."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(f"{path}/{name}").st_size
    return total


def _check_writable(path: Path) -> Path:
    """Return the path, or its nearest existing parent; raise if it is not writable."""
    nearest = next(p for p in (path.absolute(), *path.absolute().parents) if p.exists())
    if not (nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)):
        raise SettingsError(f"{path} is not writable")
    return nearest


def _workspace(settings: Settings) -> CheckResult:
    finding = partial(CheckResult, "workspace")
    folder = Path(os.path.realpath(Path(resolve_workspace(settings)).expanduser()))
    try:
        nearest = _check_writable(folder)
    except SettingsError as error:
        return finding(
            "missing", str(error), "Set another folder with --workspace or MANUS_WORKSPACE."
        )
    text = f"{folder}" if folder.is_dir() else f"{folder} (created by the first run)"
    if (free := shutil.disk_usage(nearest).free) < _MIN_FREE:
        return finding("warning", f"{text}, with {free / 1e9:.1f} GB free", "Free some space.")
    return finding("ok", text)


def _sandbox(settings: Settings) -> CheckResult:
    """Check which sandbox programs run in, what it leaves open, and how to get a stronger one."""
    from manus.sandbox.availability import probe_sandbox
    from manus.sandbox.environment.report import report_tools

    finding = partial(CheckResult, "sandbox")
    sandbox = settings.sandbox
    try:
        kind, _, advice = probe_sandbox(sandbox)
    except ManusError as error:
        text, _, remedy = str(error).partition(". ")
        return finding("missing", f"{text}.", remedy)
    if kind == "none":
        text = "none (configured): the model's programs have all your permissions, and each asks"
        return finding("warning", text, "Unset MANUS_SANDBOX.")
    network = {"rules": ", reach what [egress] allows", "open": ", reach the whole network"}
    text = f"{kind}: programs can still {_REMAINING_ACCESS[kind]}{network.get(sandbox.network, '')}"
    root = Path(os.path.realpath(Path(resolve_workspace(settings)).expanduser()))
    if hidden_tools := report_tools(root, sandbox).describe():
        text += f". {hidden_tools}"
    if advice is None:
        return finding("ok", text)
    remedy = f"Bubblewrap isolates more, but {advice.reason}: {advice.remedy}."
    return finding("warning", text, remedy)


def check_browser(settings: Settings) -> CheckResult:
    """Check whether a browser is installed; it is not started."""
    bundled = None
    try:
        engine = import_optional("manus.tools.browser.engine", *NEEDS)
        from playwright.sync_api import Error, sync_playwright

        with contextlib.suppress(Error, OSError), sync_playwright() as playwright:
            bundled = playwright.chromium.executable_path
        return CheckResult("browser", "ok", engine.find_browser(settings.browser.path, bundled))
    except ManusError as error:
        return CheckResult(
            "browser", "warning", "not found; only browser tools need it", str(error)
        )


def _fonts(_: Settings) -> CheckResult:
    """Check for Chinese, Japanese and Korean fonts; only Linux systems tend to lack them."""
    names = []
    scripts = _SCRIPTS if sys.platform == "linux" else {}
    for name, code in scripts.items():
        query = [find_host_program("fc-list") or "/usr/bin/fc-list", f":lang={code}"]
        environment = build_host_environment()
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            if subprocess.run(query, capture_output=True, timeout=10, env=environment).stdout:
                continue
        names.append(name)
    if not names:
        return CheckResult("fonts", "ok", f"available, including {', '.join(_SCRIPTS)}")
    text = f"none for {', '.join(names)}: charts and screenshots show boxes instead"
    remedy = "Install fonts, for example with `sudo apt install fontconfig fonts-noto-cjk`."
    return CheckResult("fonts", "warning", text, remedy)


def _mcp(settings: Settings) -> CheckResult:
    """Check the settings of the MCP servers, without starting or contacting one."""
    from manus.tools.mcp import find_fault

    servers = {name: server for name, server in settings.mcp.items() if server.enabled}
    if not servers:
        return CheckResult("mcp", "ok", "no server configured")
    fault = find_fault()
    if fault is not None:
        return CheckResult("mcp", "warning", f"{len(servers)} configured", fault)
    problems = []
    for name, server in servers.items():
        try:
            command = server.expand(os.environ).command
        except SettingsError as error:
            problems.append(f"{name}: {error}; set it, or remove it from the settings.")
            continue
        if command is not None and find_host_program(command) is None:
            problems.append(f"{name}: the program `{server.command}` was not found; install it.")
    text = f"{', '.join(servers)} (`manus mcp list` connects to them)"
    return CheckResult("mcp", "warning" if problems else "ok", text, "\n".join(problems))


def _tracing(_: Settings) -> CheckResult:
    """Check where traces are sent; nothing is sent for the check."""
    from manus.cli.logs import uses_langsmith

    finding = partial(CheckResult, "tracing")
    if not uses_langsmith():
        return finding("ok", "off: no traces are sent")
    if os.environ.get("LANGSMITH_TRACING_MODE", "langsmith").lower() == "langsmith":
        destination = os.environ.get("LANGSMITH_ENDPOINT") or "its default address"
        return finding("ok", f"LangSmith at {shown_address(destination)}")
    destination = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or "LangSmith"
    text = f"spans to {shown_address(destination)}"
    if is_installed("opentelemetry.exporter.otlp.proto.http"):
        return finding("ok", text)
    return finding("warning", text, "OpenTelemetry is not installed: make setup EXTRAS=otel.")
