"""What a run needs, looked for in turn. Nothing is changed, and no key is shown."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from manus.model_check import check_endpoint
from manus.options import read_settings
from manus.preflight import is_installed
from manus.screen import NARROWEST, columns_of
from manus.state.errors import ManusError, SettingsError
from manus.state.mcp_settings import McpServer
from manus.state.settings import Settings
from manus.text import clean
from manus.wrap import wrapped

_PACKAGES = ("langgraph", "langchain-openai", "langgraph-checkpoint-sqlite")
_LOW, _TOO_LOW = 1_000_000_000, 50_000_000
"""Bytes that should be, and that must be, free on a disk."""
_SCRIPTS = {"Chinese": "zh-cn", "Japanese": "ja", "Korean": "ko"}
"""What few machines can draw by themselves, and how the font list names it."""
_WORD = {"ok": "ok     ", "warning": "note   ", "missing": "MISSING"}
_MARGIN = " " * 18


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one thing; `remedy` says what to do where it is not as it should be."""

    name: str
    state: Literal["ok", "warning", "missing"]
    text: str
    remedy: str = ""

    def as_json(self) -> dict[str, str]:
        """As `doctor --json` prints it."""
        return asdict(self)


def print_findings(findings: list[Finding]) -> None:
    """One line each on stdout, and a verdict."""
    for finding in findings:
        sys.stdout.write(f"{_WORD[finding.state]} {finding.name:<10}{_indented(finding.text)}\n")
        if finding.remedy:
            sys.stdout.write(f"{_MARGIN}{_indented(finding.remedy)}\n")
    missing = [finding.name for finding in findings if finding.state == "missing"]
    verdict = f"Not ready: {', '.join(missing)}." if missing else "Ready."
    sys.stdout.write(f"\n{verdict}\n")


def _indented(text: str) -> str:
    """The text in its column; on a terminal, broken between words."""
    text = clean(text)
    if sys.stdout.isatty():
        text = wrapped(text, max(columns_of(sys.stdout) - len(_MARGIN), NARROWEST))
    return text.replace("\n", f"\n{_MARGIN}")


def examine() -> list[Finding]:
    """Look for everything."""
    findings = [*_python(), *_packages()]
    try:
        settings = read_settings()
    except ManusError as error:
        remedy = "Mend the setting; until then the rest is looked at with the defaults."
        findings.append(Finding("settings", "missing", str(error), remedy))
        settings = Settings()
    checks: list[Callable[[Settings], Iterator[Finding]]] = [
        _model,
        _threads,
        _workspace,
        _disk,
        _browser,
        _fonts,
        _sandbox,
        _mcp,
        _tracing,
    ]
    return findings + [finding for check in checks for finding in check(settings)]


def _python() -> Iterator[Finding]:
    yield Finding("python", "ok", f"{platform.python_version()} at {sys.executable}")


def _packages() -> Iterator[Finding]:
    for name in _PACKAGES:
        try:
            yield Finding("package", "ok", f"{name} {version(name)}")
        except PackageNotFoundError:
            yield Finding("package", "missing", name, "Run `make setup` in the repository.")


def _model(settings: Settings) -> Iterator[Finding]:
    state, text, remedy = check_endpoint(settings.for_role("main"))
    yield Finding("model", state, text, remedy)


def _threads(settings: Settings) -> Iterator[Finding]:
    async def open_it() -> str:
        from manus.checkpoint import open_store

        async with open_store(settings) as store:
            await store.recent(1)
            return store.place

    try:
        yield Finding("threads", "ok", f"kept in {asyncio.run(open_it())}")
    except ManusError as error:
        remedy = "Set MANUS_CHECKPOINT to a file that can be written, or to a postgresql:// URL."
        yield Finding("threads", "missing", str(error), remedy)


def _workspace(settings: Settings) -> Iterator[Finding]:
    place = Path(os.path.realpath(Path(settings.workspace).expanduser()))
    nearest = _nearest(place)
    if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
        will = "" if place == nearest else " (made by the first run)"
        yield Finding("workspace", "ok", f"{place}{will}")
        return
    remedy = "Choose another with --workspace or MANUS_WORKSPACE."
    yield Finding("workspace", "missing", f"{place} cannot be written to", remedy)


def _disk(settings: Settings) -> Iterator[Finding]:
    place = _nearest(Path(os.path.realpath(Path(settings.workspace).expanduser())))
    free = shutil.disk_usage(place).free
    found = f"{free / 1e9:.1f} GB free at {place}"
    state: Literal["ok", "warning", "missing"] = (
        "ok" if free >= _LOW else "warning" if free >= _TOO_LOW else "missing"
    )
    yield Finding("disk", state, found, "" if state == "ok" else "Make room.")


def _nearest(place: Path) -> Path:
    """The place itself, or the nearest folder above it that is there."""
    return next(p for p in (place, *place.parents) if p.exists())


def _browser(settings: Settings) -> Iterator[Finding]:
    from manus.tools.browser.find import find_browser

    try:
        yield Finding("browser", "ok", find_browser(settings.browser.path, _bundled_browser()).path)
    except ManusError as error:
        yield Finding("browser", "warning", "none found; only browser tools need one", str(error))


def _bundled_browser() -> str | None:
    """Where Playwright would have its own, if it is installed and starts."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        return None
    try:
        with sync_playwright() as playwright:
            return playwright.chromium.executable_path
    except (Error, OSError):
        return None


def _fonts(_: Settings) -> Iterator[Finding]:
    """Whether charts and screenshots can show Chinese, Japanese and Korean; other systems can."""
    if not sys.platform.startswith("linux"):
        return
    names = [name for name, language in _SCRIPTS.items() if not _has_font(language)]
    if not names:
        yield Finding("fonts", "ok", f"for {', '.join(_SCRIPTS)} too")
        return
    unknown = "" if shutil.which("fc-list") else " (`fc-list` is not installed)"
    text = f"none for {', '.join(names)} found{unknown}: charts show boxes, or nothing, instead"
    remedy = "Install one, for example with `sudo apt install fontconfig fonts-noto-cjk`."
    yield Finding("fonts", "warning", text, remedy)


def _has_font(language: str) -> bool:
    try:
        query = ["fc-list", f":lang={language}"]
        done = subprocess.run(query, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and bool(done.stdout.strip())


def _sandbox(_: Settings) -> Iterator[Finding]:
    remedy = "On Linux install bubblewrap (`sudo apt install bubblewrap`)."
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        yield Finding(
            "sandbox", "warning", "bubblewrap is not installed; no tool uses it yet", remedy
        )
        return
    attempt = [bwrap, "--unshare-all", "--ro-bind", "/", "/", "true"]
    try:
        done = subprocess.run(attempt, capture_output=True, timeout=5, check=False)
        reason = done.stderr.decode("utf-8", "replace").strip() if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = str(error)
    if reason:
        remedy = "Allow user namespaces on this machine."
        yield Finding("sandbox", "warning", f"{bwrap} does not work here: {reason}", remedy)
    else:
        yield Finding("sandbox", "ok", f"{bwrap} works; no tool uses it yet, code runs as you")


def _mcp(settings: Settings) -> Iterator[Finding]:
    """The configured servers, as far as that can be said without starting or asking one."""
    from manus.tools.load_mcp_tools import NOT_INSTALLED

    if settings.mcp and not is_installed("mcp"):
        yield Finding("mcp", "warning", f"{len(settings.mcp)} configured", NOT_INSTALLED)
        return
    for name, server in settings.mcp.items():
        place = f"{name}: {server.kind}, {server.place}"
        problem = _mcp_problem(server)
        if not server.enabled:
            yield Finding("mcp", "ok", f"{place} (off)")
        elif problem:
            yield Finding("mcp", "warning", place, problem)
        else:
            yield Finding("mcp", "ok", f"{place} (`manus mcp list` connects it)")


def _tracing(_: Settings) -> Iterator[Finding]:
    """Where what runs do is sent to; nothing is sent to find out whether anybody takes it."""
    from manus.traces import mode, uses_langsmith

    if not uses_langsmith():
        yield Finding("tracing", "ok", "off: nothing is sent anywhere")
        return
    place = os.environ.get("LANGSMITH_ENDPOINT") or "its own address"
    if mode() != "otel":
        yield Finding("tracing", "ok", f"LangSmith at {_without_password(place)}")
    if mode() != "langsmith":
        where = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or "LangSmith"
        there = is_installed("opentelemetry.exporter.otlp.proto.http")
        remedy = "" if there else "OpenTelemetry is not installed: make setup EXTRAS=otel."
        state: Literal["ok", "warning"] = "ok" if there else "warning"
        yield Finding("tracing", state, f"spans to {_without_password(where)}", remedy)


def _without_password(address: str) -> str:
    before, at, place = address.rpartition("@")
    return f"{before.partition('//')[0]}//{place}" if at else address


def _mcp_problem(server: McpServer) -> str:
    """What would keep it from being used, in a sentence; empty if nothing is known."""
    if server.command is not None and shutil.which(server.command) is None:
        return f"There is no program `{server.command}`: install it, or give its whole path."
    try:
        server.variables(os.environ)
        server.all_headers(os.environ)
    except SettingsError as error:
        return f"Set it, or leave it out of the settings: {error}."
    return ""
