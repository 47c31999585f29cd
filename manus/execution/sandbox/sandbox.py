"""The sandbox, through which every program of a run is started.

A run's session has one sandbox, opened when its first program starts. `SandboxSettings.kind`
selects its kind; `auto` selects the strongest that works on this machine.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from manus.config.safety_settings import SandboxSettings
from manus.execution.environment.exposure import Exposure, join
from manus.execution.environment.selection import (
    find_playwright_browsers,
    find_user_packages,
    find_user_tools,
)
from manus.execution.network.egress_proxy import EgressProxy, egress_of
from manus.execution.sandbox import bubblewrap, landlock, seccomp
from manus.execution.sandbox.advice import Advice, advise
from manus.execution.sandbox.confined import Confined
from manus.execution.sandbox.git_history import GitHistory
from manus.execution.sandbox.git_layout import (
    GIT_BIN,
    ClosedPaths,
    closed_paths,
    git_environment,
    lay_out_git,
)
from manus.execution.sandbox.git_service import GitService
from manus.execution.sandbox.git_settings import VARIABLE, copy_git_settings
from manus.execution.sandbox.home import HOME, SandboxHome
from manus.execution.sandbox.interpreter import own_python
from manus.execution.sandbox.limits import Limits
from manus.execution.sandbox.name_guard import NameGuard
from manus.execution.sandbox.network import Network, open_network
from manus.execution.sandbox.own_code import own_code_in
from manus.execution.sandbox.socket_broker import SocketBroker
from manus.execution.session import Session
from manus.state.errors import ToolUnavailableError

SandboxKind = Literal["bubblewrap", "landlock", "none"]

CERTIFICATES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"),
    *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT"),
)
"""Variables with the certificate files that programs need to verify servers."""
_MAX_NAMED = 3
"""Maximum number of unreachable hosts that are listed."""
_FILTER_DESCRIPTOR = "9"
_LIMIT_SCRIPT = f'ulimit -f "$1"; exec {_FILTER_DESCRIPTOR}<"$2"; shift 2; exec "$@"'
_DENIED_MESSAGES = ("Read-only file system", "Device or resource busy")
_READ_ONLY_NOTE = (
    "\n[read-only here: `.git` (`git` itself can change it), `.env` files, settings of editors and "
    "shells, `manus.toml`, `.manus`, environments outside the workspace; change what has to be "
    "changed with `str_replace_editor`, which asks the user]"
)
_OWN_CODE_ERROR = (
    "Programs are not started: the workspace {workspace} contains {code}, code that runs outside "
    "of the sandbox, and Landlock cannot keep programs from changing it. Choose another workspace "
    "with `--workspace`{remedy}."
)
_NO_SANDBOX_ERROR = (
    "Programs are not started without a sandbox, and none works here: {faults}. {remedy}"
    "Without one, work in a container or virtual machine, and set `MANUS_SANDBOX=none`."
)


class WorkingSandbox(NamedTuple):
    """A kind of sandbox that works on this machine."""

    kind: SandboxKind
    network: Network | None = None
    advice: Advice | None = None
    """How to make bubblewrap work, if the weaker Landlock is used instead."""


class Sandbox:
    """The sandbox of the programs of one run, opened by `open_sandbox`."""

    def __init__(
        self,
        kind: SandboxKind,
        settings: SandboxSettings,
        workspace: Path,
        home: SandboxHome | None = None,
        network: Network | None = None,
        proxy: EgressProxy | None = None,
    ) -> None:
        self.kind = kind
        self.network = network
        """The programs' own network namespace; None if they share the machine's network."""
        self.limits = Limits(settings)
        self._settings = settings
        self._workspace = workspace
        self.names = None if kind == "none" else NameGuard(workspace, restores=kind == "landlock")
        """Reverts changes of names that configure programs outside; None without a sandbox."""
        self._history: GitHistory | None = None
        if self.names is not None:
            self._history = GitHistory(workspace, self.names.repositories)
            self.names.accepts = self._history.holds
        self._read_only: list[Path] = []
        if kind == "bubblewrap" and self.names is not None:
            self._read_only = [*own_code_in(workspace), *self.names.existing_paths()]
        self._home = home
        self._git_program: str | None = None
        """The machine's git, if programs use a wrapper around it."""
        self.git: GitService | None = None
        """Executes git commands that change read-only repositories; None if there are none."""
        self._filter = ""
        """The path of the seccomp filter; empty if there is none."""
        if home is not None and kind == "bubblewrap":
            bubblewrap.prepare_etc(home.path)
            self._git_program = lay_out_git(home.path, workspace)
            if rules := seccomp.program():
                self._filter = str(home.path / "filter")
                Path(self._filter).write_bytes(rules)
        if home is not None:
            _link_user_packages(home.path / "home")
            _link_browsers(home.path / "home")
            copy_git_settings(workspace, home.path / "home" / ".gitconfig", os.environ)
        self.broker: SocketBroker | None = None
        """The broker of the programs' sockets; None if the kernel isolates them."""
        if home is not None and kind == "landlock" and settings.network != "open":
            self.broker = SocketBroker((workspace, home.path)) if seccomp.program() else None
        self._proxy = proxy
        self.proxy_server: asyncio.Server | None = None
        """The proxy's server for programs in the sandbox."""

    def confine(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        directory: Path,
        extra_read: Sequence[Path] = (),
        *,
        is_users: bool = False,
    ) -> Confined:
        """Return how a program that may read `more` is started. Blocking.

        The workspace's own tools are first on its `PATH`. Not if it was `chosen` by the user, such
        as an MCP server: then it has their keys, and is found as their terminal finds it.
        """
        tools = find_user_tools(self._workspace, os.environ)
        if not is_users:
            environment = tools.applied(environment)
        if self._home is None:
            return Confined(tuple(argv), environment)
        home = self._home.path
        variables = {**environment, **self._own_variables(home, is_users)}
        certificates = [environment[name] for name in CERTIFICATES if name in environment]
        readable = [Path(p).expanduser() for p in (*self._settings.read, *certificates)]
        installed = bubblewrap.expose_programs()
        read = [*readable, *extra_read, *installed.read, *tools.exposure.read]
        hidden = [path for path in installed.hidden if not any(map(path.is_relative_to, readable))]
        hidden += [path for path in tools.exposure.hidden if path not in readable]
        if self.kind == "landlock":
            restricts_network = self._settings.network != "open"
            port = self._port if "http_proxy" in variables else None
            prefix = landlock.build_command(
                own_python(),
                self._workspace,
                home,
                read=join([bubblewrap.expose_system(), Exposure((*read,), (*hidden,))]).paths(),
                network=restricts_network,
                port=port,
                rules=seccomp.program(shares_network=restricts_network, shares_ipc=True),
                broker=self.broker.name if self.broker else "",
                broker_rules=seccomp.program(
                    shares_network=restricts_network, shares_ipc=True, has_broker=True
                ),
            )
        else:
            if self._git_program is not None:
                variables["PATH"] = f"{GIT_BIN}:{variables.get('PATH', os.defpath)}"
            variables["GIT_OPTIONAL_LOCKS"] = "0"  # `git status` writes nothing
            closed_paths_now = self._closed_paths()
            prefix = bubblewrap.build_command(
                self._workspace,
                home,
                directory,
                read=[*read, *closed_paths_now.outside],
                read_only=[*self._read_only, *closed_paths_now.inside],
                hidden=hidden,
                filter_at=self._filter and _FILTER_DESCRIPTOR,
            )
        return Confined((*self._limit_words(), *prefix, *argv), variables)

    def confine_git(self, argv: Sequence[str], directory: Path) -> Confined:
        """Return how a git command is started that changes closed repositories. Blocking.

        Its sandbox is that of other programs, but for the git directories, which it may write, and
        its home, in which no program has written settings. The hooks stay closed.
        """
        if self._home is None:
            raise ToolUnavailableError("There is no sandbox for git.")
        home = self._home.path
        closed_git = self._closed_paths()
        certificates = {name: os.environ[name] for name in CERTIFICATES if name in os.environ}
        read = [Path(path) for path in (*self._settings.read, *certificates.values())]
        prefix = bubblewrap.build_command(
            self._workspace,
            home / "git",
            directory,
            read=[path.expanduser() for path in read],
            read_only=[*own_code_in(self._workspace), *closed_git.programs],
            writable=closed_git.outside,
            filter_at=self._filter and _FILTER_DESCRIPTOR,
        )
        variables = {**certificates, **self._own_variables(home, is_users=False)}
        environment = git_environment(self._git_program or "/usr/bin/git", variables)
        return Confined((*self._limit_words(), *prefix, *argv), environment)

    def _closed_paths(self) -> ClosedPaths:
        repositories = self.names.repositories() if self.names is not None else []
        return closed_paths(repositories, self._workspace)

    def _limit_words(self) -> tuple[str, ...]:
        """Return the words that limit the size of files and enter the sandbox's network."""
        blocks = self._settings.file_megabytes * 1_000_000 // 512
        # an absolute path: the `PATH` may contain a program `sh` of the workspace
        limited = ("/bin/sh", "-c", _LIMIT_SCRIPT, "sh", str(blocks), self._filter or os.devnull)
        entry = self.network.entry if self.network else ()
        return (*limited, *entry)

    def exit_code(self, code: int) -> int:
        """Convert the exit code of bubblewrap, 128 + N for signal N, to the program's code."""
        return 128 - code if self.kind == "bubblewrap" and 128 < code < 160 else code

    @property
    def mark(self) -> int:
        """Number of failed requests of the run so far: a mark for `remarks`."""
        return self._proxy.incidents.count if self._proxy else 0

    def remarks(self, mark: int, printed: str) -> str:
        """Return notes on requests that failed since a mark, and on exceeded limits."""
        is_denied = self.kind == "bubblewrap" and any(sign in printed for sign in _DENIED_MESSAGES)
        remark = (_READ_ONLY_NOTE if is_denied else "") + self.limits.take()
        incidents = self._proxy.incidents.since(mark) if self._proxy else ()
        reasons = [i.reason.rstrip(".") for i in incidents if i.proxy_port == self._port]
        omitted = f"; and {len(reasons) - _MAX_NAMED} more" if len(reasons) > _MAX_NAMED else ""
        return remark + (
            f"\n[not reached: {'; '.join(reasons[:_MAX_NAMED])}{omitted}]" if reasons else ""
        )

    def _own_variables(self, home: Path, is_users: bool) -> dict[str, str]:
        inside = self.kind == "bubblewrap"
        variables = {"HOME": HOME if inside else str(home / "home")}
        variables["TMPDIR"] = "/tmp" if inside else str(home / "tmp")
        variables["GIT_CONFIG_NOSYSTEM"] = (
            "1"  # the copy in `$HOME` has the settings that may be seen
        )
        if VARIABLE in os.environ:
            variables[VARIABLE] = f"{variables['HOME']}/.gitconfig"
        if (rust := Path.home() / ".rustup").is_dir():  # else rustup searches the home inside
            variables["RUSTUP_HOME"] = str(rust)
        if self._proxy is not None and self._settings.network == "rules":
            user = f"{self._proxy.key}@" if is_users else ""
            names = ("http_proxy", "https_proxy", "all_proxy")
            proxy = f"http://{user}127.0.0.1:{self._port}"
            variables |= dict.fromkeys((*names, *map(str.upper, names)), proxy)
            variables |= dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1")
            variables["NODE_USE_ENV_PROXY"] = "1"
        return variables

    @property
    def _port(self) -> int | None:
        """The port of the proxy for programs; None if they have none."""
        return int(self.proxy_server.sockets[0].getsockname()[1]) if self.proxy_server else None

    async def serve_git(self) -> None:
        """Start the service that executes git commands which change read-only repositories."""
        if self._home is None or self._history is None or self._git_program is None:
            return
        self.git = GitService(
            self._workspace,
            self._home.path,
            history=self._history,
            confine=self.confine_git,
            limits=self.limits,
        )
        self.git.start()

    async def close(self) -> None:
        """End the sandbox's services and network, and remove the programs' own folders."""
        if self.git is not None:
            await self.git.close()
        if self.proxy_server is not None:
            self.proxy_server.close()
        if self._proxy is not None:
            self._proxy.rules.inside = None
        if self.network is not None:
            await asyncio.to_thread(self.network.close)
        if self.broker is not None:
            await asyncio.to_thread(self.broker.close)
        if self._home is not None:
            await asyncio.to_thread(self._home.close)


def _link_user_packages(home: Path) -> None:
    """Let Python find packages of `pip install --user`, and install more next to them."""
    for packages in find_user_packages(Path.home()):
        target = home / packages.relative_to(Path.home())
        target.mkdir(parents=True)
        (target / "user.pth").write_text(f"{packages}\n")


def _link_browsers(home: Path) -> None:
    """Let Playwright find its installed browsers, and install more next to them."""
    cache = home / ".cache" / "ms-playwright"
    for browser in find_playwright_browsers(Path.home(), os.environ):
        cache.mkdir(parents=True, exist_ok=True)
        (cache / browser.name).symlink_to(browser)


async def sandbox_of(session: Session) -> Sandbox:
    """Return the sandbox of a session; open it on first use.

    Raises:
        ToolUnavailableError: see `open_sandbox`.
    """
    settings = session.settings

    async def create() -> Sandbox:
        proxy = await egress_of(session)
        sandbox = await open_sandbox(settings.sandbox, session.workspace.root, proxy)
        session.egress_guard.shares_network = sandbox.kind == "landlock"
        if sandbox.git is not None:
            sandbox.git.hold = session.git_guard.hold
        return sandbox

    return await session.obtain("sandbox", create)


async def open_sandbox(settings: SandboxSettings, workspace: Path, proxy: EgressProxy) -> Sandbox:
    """Open a sandbox whose programs reach the network through the proxy.

    Raises:
        ToolUnavailableError: the configured sandbox does not work here, or the workspace
            contains code that it cannot protect.
    """
    if settings.kind == "none":
        return Sandbox("none", settings, workspace)

    def create() -> Sandbox:
        kind, network, advice = _select_sandbox(settings)
        if kind == "landlock" and (code := own_code_in(workspace)):
            remedy = f", or use bubblewrap: {advice.remedy}" if advice else ""
            text = _OWN_CODE_ERROR.format(code=code[0], workspace=workspace, remedy=remedy)
            raise ToolUnavailableError(text)
        return Sandbox(kind, settings, workspace, SandboxHome(), network, proxy)

    sandbox = await asyncio.to_thread(create)
    try:
        if (network := sandbox.network) is not None:
            proxy.rules.inside = network.connect
        if (broker := sandbox.broker) is not None:
            proxy.rules.inside = broker.connect
        if settings.network == "rules":
            listener = network.listener if network else socket.create_server(("127.0.0.1", 0))
            sandbox.proxy_server = await proxy.listen(listener)
        await sandbox.serve_git()
    except BaseException:
        await sandbox.close()
        raise
    return sandbox


def probe_sandbox(settings: SandboxSettings) -> WorkingSandbox:
    """Return the kind of sandbox that a run would get here. Blocking, for about 0.1 s.

    Its network is closed again.

    Raises:
        ToolUnavailableError: as `open_sandbox`.
    """
    if settings.kind == "none":
        return WorkingSandbox("none")
    working = _select_sandbox(settings)
    if working.network is not None:
        working.network.close()
    return working


def describe_sandbox(settings: SandboxSettings, workspace: Path) -> str:
    """Describe the sandbox, such as `sandbox: bubblewrap`, and how to strengthen it. Blocking."""
    try:
        kind, _, advice = probe_sandbox(settings)
    except ToolUnavailableError:
        return "no sandbox works here, so no program is started: see `manus doctor`"
    if kind == "none":
        return "no sandbox"
    if kind == "landlock" and own_code_in(workspace):
        remedy = f" or, for bubblewrap, {advice.remedy}" if advice else ""
        return (
            "no program is started, since Landlock cannot protect the code of manus that is in "
            f"this folder: use `--workspace`{remedy}"
        )
    if advice is None:
        return f"sandbox: {kind}"
    return f"sandbox: {kind}; bubblewrap is stronger, but {advice.reason}: {advice.remedy}"


def _select_sandbox(settings: SandboxSettings) -> WorkingSandbox:
    """Return the strongest working sandbox that the settings allow. Blocking."""
    advice = None
    faults = []
    if settings.kind in ("auto", "bubblewrap"):
        try:
            return _probe_bubblewrap(settings)
        except ToolUnavailableError as error:
            is_installed = bubblewrap.find_program() is not None
            is_root = os.geteuid() == 0
            advice = advise(str(error), is_installed=is_installed, is_root=is_root)
        faults.append(f"bubblewrap {advice.reason}")
    if settings.kind in ("auto", "landlock"):
        if landlock.find_version():
            return WorkingSandbox("landlock", advice=advice)
        faults.append("the kernel has no Landlock")
    remedy = f"For bubblewrap: {advice.remedy}. " if advice else ""
    raise ToolUnavailableError(
        _NO_SANDBOX_ERROR.format(faults=", and ".join(faults), remedy=remedy)
    )


def _probe_bubblewrap(settings: SandboxSettings) -> WorkingSandbox:
    """Return bubblewrap, or raise `ToolUnavailableError` if it does not work here. Blocking."""
    if fault := bubblewrap.find_fault():
        raise ToolUnavailableError(fault)
    return WorkingSandbox("bubblewrap", None if settings.network == "open" else open_network())
