"""The one seam through which every program of a run is started.

A run's session has one sandbox, opened when its first program starts. Which wall it is says
`SandboxSettings.kind`; `auto` takes the strongest that works on this machine.
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

Wall = Literal["bubblewrap", "landlock", "none"]

CERTIFICATES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"),
    *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT"),
)
"""Variables whose files a program needs to trust the servers that this machine trusts."""
_NAMED = 3
"""Hosts named at most of those that were not reached."""
_FILTER = "9"
_LIMITED = f'ulimit -f "$1"; exec {_FILTER}<"$2"; shift 2; exec "$@"'
_SIGNS = ("Read-only file system", "Device or resource busy")
_KEPT = (
    "\n[read-only here: `.git` (`git` itself can change it), `.env` files, settings of editors and "
    "shells, `manus.toml`, `.manus`, environments outside the workspace; change what has to be "
    "changed with `str_replace_editor`, which asks the user]"
)
_OWN_CODE = (
    "Programs are not started: the workspace {workspace} contains {code}, code that runs outside "
    "of the sandbox, and Landlock cannot keep programs from changing it. Choose another workspace "
    "with `--workspace`{remedy}."
)
_NONE_WORKS = (
    "Programs are not started without a sandbox, and none works here: {faults}. {remedy}"
    "Without one, work in a container or virtual machine, and set `MANUS_SANDBOX=none`."
)


class Raised(NamedTuple):
    """A sandbox that works on this machine."""

    wall: Wall
    network: Network | None = None
    advice: Advice | None = None
    """What to do for bubblewrap, where the weaker Landlock stands in for it."""


class Sandbox:
    """The wall around the programs of one run. `open_sandbox` makes one."""

    def __init__(
        self,
        wall: Wall,
        settings: SandboxSettings,
        workspace: Path,
        home: SandboxHome | None = None,
        network: Network | None = None,
        proxy: EgressProxy | None = None,
    ) -> None:
        self.wall = wall
        self.network = network
        """The programs' own network; None where they have the machine's, or none."""
        self.limits = Limits(settings)
        self._settings = settings
        self._workspace = workspace
        self.names = None if wall == "none" else NameGuard(workspace, restores=wall == "landlock")
        """Undoes what programs do to names that configure programs outside; None without a wall."""
        self._history: GitHistory | None = None
        if self.names is not None:
            self._history = GitHistory(workspace, self.names.repositories)
            self.names.accepts = self._history.holds
        self._read_only: list[Path] = []
        if wall == "bubblewrap" and self.names is not None:
            self._read_only = [*own_code_in(workspace), *self.names.existing_paths()]
        self._home = home
        self._git_program: str | None = None
        """The git of the machine, where programs find a wrapper around it."""
        self.git: GitService | None = None
        """Carries out what changes a closed repository; None where none is closed."""
        self._filter = ""
        """A file with the rules for system calls; empty if there are none."""
        if home is not None and wall == "bubblewrap":
            bubblewrap.lay_out(home.path)
            self._git_program = lay_out_git(home.path, workspace)
            if rules := seccomp.program():
                self._filter = str(home.path / "filter")
                Path(self._filter).write_bytes(rules)
        if home is not None:
            _link_user_packages(home.path / "home")
            _link_browsers(home.path / "home")
            copy_git_settings(workspace, home.path / "home" / ".gitconfig", os.environ)
        self.broker: SocketBroker | None = None
        """Where the programs' own sockets come from; None where the kernel keeps them apart."""
        if home is not None and wall == "landlock" and settings.network != "open":
            self.broker = SocketBroker((workspace, home.path)) if seccomp.program() else None
        self._proxy = proxy
        self.door: asyncio.Server | None = None
        """Where the proxy serves those inside."""

    def confine(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        directory: Path,
        more: Sequence[Path] = (),
        *,
        chosen: bool = False,
    ) -> Confined:
        """Return how a program that may read `more` is started. Blocking.

        The workspace's own tools are first on its `PATH`. Not if it was `chosen` by the user, such
        as an MCP server: then it has their keys, and is found as their terminal finds it.
        """
        tools = find_user_tools(self._workspace, os.environ)
        if not chosen:
            environment = tools.applied(environment)
        if self._home is None:
            return Confined(tuple(argv), environment)
        home = self._home.path
        known = {**environment, **self._own_variables(home, chosen)}
        certificates = [environment[name] for name in CERTIFICATES if name in environment]
        named = [Path(p).expanduser() for p in (*self._settings.read, *certificates)]
        own = bubblewrap.programs()
        read = [*named, *more, *own.read, *tools.exposure.read]
        hidden = [path for path in own.hidden if not any(map(path.is_relative_to, named))]
        hidden += [path for path in tools.exposure.hidden if path not in named]
        if self.wall == "landlock":
            closed = self._settings.network != "open"
            port = self._port if "http_proxy" in known else None
            front = landlock.words(
                own_python(),
                self._workspace,
                home,
                read=join([bubblewrap.system(), Exposure((*read,), (*hidden,))]).paths(),
                network=closed,
                port=port,
                rules=seccomp.program(shares_network=closed, shares_ipc=True),
                broker=self.broker.name if self.broker else "",
                broker_rules=seccomp.program(
                    shares_network=closed, shares_ipc=True, has_broker=True
                ),
            )
        else:
            if self._git_program is not None:
                known["PATH"] = f"{GIT_BIN}:{known.get('PATH', os.defpath)}"
            known["GIT_OPTIONAL_LOCKS"] = "0"  # `git status` writes nothing
            shut = self._closed_paths()
            front = bubblewrap.words(
                self._workspace,
                home,
                directory,
                read=[*read, *shut.outside],
                read_only=[*self._read_only, *shut.inside],
                hidden=hidden,
                filter_at=self._filter and _FILTER,
            )
        return Confined((*self._limited(), *front, *argv), known)

    def confine_git(self, argv: Sequence[str], directory: Path) -> Confined:
        """Return how a git command is started that changes closed repositories. Blocking.

        Its sandbox is that of other programs, but for the git directories, which it may write, and
        its home, in which no program has written settings. The hooks stay closed.
        """
        if self._home is None:
            raise ToolUnavailableError("There is no sandbox for git.")
        home = self._home.path
        closed = self._closed_paths()
        certificates = {name: os.environ[name] for name in CERTIFICATES if name in os.environ}
        read = [Path(path) for path in (*self._settings.read, *certificates.values())]
        front = bubblewrap.words(
            self._workspace,
            home / "git",
            directory,
            read=[path.expanduser() for path in read],
            read_only=[*own_code_in(self._workspace), *closed.programs],
            writable=closed.outside,
            filter_at=self._filter and _FILTER,
        )
        variables = {**certificates, **self._own_variables(home, chosen=False)}
        environment = git_environment(self._git_program or "/usr/bin/git", variables)
        return Confined((*self._limited(), *front, *argv), environment)

    def _closed_paths(self) -> ClosedPaths:
        repositories = self.names.repositories() if self.names is not None else []
        return closed_paths(repositories, self._workspace)

    def _limited(self) -> tuple[str, ...]:
        """Return the words that limit the size of files and enter the sandbox's network."""
        blocks = self._settings.file_megabytes * 1_000_000 // 512
        # not by the `PATH`, where a program of the workspace may be called `sh`
        limited = ("/bin/sh", "-c", _LIMITED, "sh", str(blocks), self._filter or os.devnull)
        entry = self.network.entry if self.network else ()
        return (*limited, *entry)

    def exit_code(self, code: int) -> int:
        """What a program's exit code is without the wall, which says 128 + N for a signal N."""
        return 128 - code if self.wall == "bubblewrap" and 128 < code < 160 else code

    @property
    def mark(self) -> int:
        """How many requests of the run have failed until now: a mark for `remarks`."""
        return self._proxy.incidents.count if self._proxy else 0

    def remarks(self, mark: int, printed: str) -> str:
        """Lines on what programs asked for since a mark in vain, and on why they were ended."""
        kept = self.wall == "bubblewrap" and any(sign in printed for sign in _SIGNS)
        said = (_KEPT if kept else "") + self.limits.take()
        incidents = self._proxy.incidents.since(mark) if self._proxy else ()
        found = [i.reason.rstrip(".") for i in incidents if i.door == self._port]
        more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        return said + (f"\n[not reached: {'; '.join(found[:_NAMED])}{more}]" if found else "")

    def _own_variables(self, home: Path, chosen: bool) -> dict[str, str]:
        inside = self.wall == "bubblewrap"
        variables = {"HOME": HOME if inside else str(home / "home")}
        variables["TMPDIR"] = "/tmp" if inside else str(home / "tmp")
        variables["GIT_CONFIG_NOSYSTEM"] = "1"  # the copy in `$HOME` has what may be seen of it
        if VARIABLE in os.environ:
            variables[VARIABLE] = f"{variables['HOME']}/.gitconfig"
        if (rust := Path.home() / ".rustup").is_dir():  # else it looks below the home inside
            variables["RUSTUP_HOME"] = str(rust)
        if self._proxy is not None and self._settings.network == "rules":
            user = f"{self._proxy.key}@" if chosen else ""
            names = ("http_proxy", "https_proxy", "all_proxy")
            proxy = f"http://{user}127.0.0.1:{self._port}"
            variables |= dict.fromkeys((*names, *map(str.upper, names)), proxy)
            variables |= dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1")
            variables["NODE_USE_ENV_PROXY"] = "1"
        return variables

    @property
    def _port(self) -> int | None:
        """The proxy's for programs; None if they have none."""
        return int(self.door.sockets[0].getsockname()[1]) if self.door else None

    async def serve_git(self) -> None:
        """Carry out from now on what changes a closed repository."""
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
        """End the network and remove the programs' own folders."""
        if self.git is not None:
            await self.git.close()
        if self.door is not None:
            self.door.close()
        if self._proxy is not None:
            self._proxy.rules.inside = None
        if self.network is not None:
            await asyncio.to_thread(self.network.close)
        if self.broker is not None:
            await asyncio.to_thread(self.broker.close)
        if self._home is not None:
            await asyncio.to_thread(self._home.close)


def _link_user_packages(home: Path) -> None:
    """Let a Python find what `pip install --user` has installed, and install more beside it."""
    for packages in find_user_packages(Path.home()):
        there = home / packages.relative_to(Path.home())
        there.mkdir(parents=True)
        (there / "user.pth").write_text(f"{packages}\n")


def _link_browsers(home: Path) -> None:
    """Let Playwright find the browsers that it has installed, and install more beside them."""
    cache = home / ".cache" / "ms-playwright"
    for browser in find_playwright_browsers(Path.home(), os.environ):
        cache.mkdir(parents=True, exist_ok=True)
        (cache / browser.name).symlink_to(browser)


async def sandbox_of(session: Session) -> Sandbox:
    """The sandbox of a session, opened when it is first needed.

    Raises:
        ToolUnavailableError: see `open_sandbox`.
    """
    settings = session.settings

    async def make() -> Sandbox:
        proxy = await egress_of(session)
        sandbox = await open_sandbox(settings.sandbox, session.workspace.root, proxy)
        session.egress_guard.shares_network = sandbox.wall == "landlock"
        if sandbox.git is not None:
            sandbox.git.hold = session.git_guard.hold
        return sandbox

    return await session.obtain("sandbox", make)


async def open_sandbox(settings: SandboxSettings, workspace: Path, proxy: EgressProxy) -> Sandbox:
    """A sandbox; what its programs want of the network goes through the proxy.

    Raises:
        ToolUnavailableError: the wall that the settings name does not stand here, or the workspace
            contains code that it cannot protect.
    """
    if settings.kind == "none":
        return Sandbox("none", settings, workspace)

    def raised() -> Sandbox:
        wall, network, advice = _raise_wall(settings)
        if wall == "landlock" and (code := own_code_in(workspace)):
            remedy = f", or use bubblewrap: {advice.remedy}" if advice else ""
            text = _OWN_CODE.format(code=code[0], workspace=workspace, remedy=remedy)
            raise ToolUnavailableError(text)
        return Sandbox(wall, settings, workspace, SandboxHome(), network, proxy)

    sandbox = await asyncio.to_thread(raised)
    try:
        if (network := sandbox.network) is not None:
            proxy.rules.inside = network.connect
        if (broker := sandbox.broker) is not None:
            proxy.rules.inside = broker.connect
        if settings.network == "rules":
            listener = network.listener if network else socket.create_server(("127.0.0.1", 0))
            sandbox.door = await proxy.listen(listener)
        await sandbox.serve_git()
    except BaseException:
        await sandbox.close()
        raise
    return sandbox


def try_wall(settings: SandboxSettings) -> Raised:
    """Return the sandbox that a run would get here. Blocking, for a tenth of a second.

    Its network has been closed again.

    Raises:
        ToolUnavailableError: as `open_sandbox`.
    """
    if settings.kind == "none":
        return Raised("none")
    raised = _raise_wall(settings)
    if raised.network is not None:
        raised.network.close()
    return raised


def wall_in_words(settings: SandboxSettings, workspace: Path) -> str:
    """Return `sandbox: bubblewrap` and the like, with what makes it stronger. Blocking."""
    try:
        wall, _, advice = try_wall(settings)
    except ToolUnavailableError:
        return "no sandbox works here, so no program is started: see `manus doctor`"
    if wall == "none":
        return "no sandbox"
    if wall == "landlock" and own_code_in(workspace):
        remedy = f" or, for bubblewrap, {advice.remedy}" if advice else ""
        return (
            "no program is started, since Landlock cannot protect the code of manus that is in "
            f"this folder: use `--workspace`{remedy}"
        )
    if advice is None:
        return f"sandbox: {wall}"
    return f"sandbox: {wall}; bubblewrap is stronger, but {advice.reason}: {advice.remedy}"


def _raise_wall(settings: SandboxSettings) -> Raised:
    """Return the strongest of the sandboxes wanted that works. Blocking."""
    advice = None
    faults = []
    if settings.kind in ("auto", "bubblewrap"):
        try:
            return _raise_bubblewrap(settings)
        except ToolUnavailableError as error:
            is_installed = bubblewrap.program() is not None
            is_root = os.geteuid() == 0
            advice = advise(str(error), is_installed=is_installed, is_root=is_root)
        faults.append(f"bubblewrap {advice.reason}")
    if settings.kind in ("auto", "landlock"):
        if landlock.version():
            return Raised("landlock", advice=advice)
        faults.append("the kernel has no Landlock")
    remedy = f"For bubblewrap: {advice.remedy}. " if advice else ""
    raise ToolUnavailableError(_NONE_WORKS.format(faults=", and ".join(faults), remedy=remedy))


def _raise_bubblewrap(settings: SandboxSettings) -> Raised:
    """Raises ToolUnavailableError if it does not work here. Blocking."""
    if fault := bubblewrap.fault():
        raise ToolUnavailableError(fault)
    return Raised("bubblewrap", None if settings.network == "open" else open_network())
