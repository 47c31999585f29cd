"""The sandbox in which every program of a run is started.

A run's session has one sandbox, opened when its first program starts. `SandboxSettings.kind`
selects its kind; `auto` selects the strongest that works on this machine.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from manus.config.safety_settings import SandboxSettings
from manus.sandbox import bubblewrap, landlock, seccomp
from manus.sandbox.availability import SandboxKind, select_sandbox
from manus.sandbox.confined import Confined
from manus.sandbox.egress_proxy import EgressProxy
from manus.sandbox.environment.exposure import ExposedPaths, join, select_readable_folders
from manus.sandbox.environment.links import link_browsers, link_user_packages
from manus.sandbox.environment.tools import (
    UserTools,
    find_rehash_programs,
    find_user_tools,
)
from manus.sandbox.failure_notes import (
    describe_denials,
    describe_incidents,
    describe_outside,
)
from manus.sandbox.git_config import ConfigChange, apply_change
from manus.sandbox.git_data import mount_read_only, mount_writable
from manus.sandbox.git_settings import GIT_CONFIG_VARIABLE, copy_git_settings
from manus.sandbox.home import HOME, SHELL, SHELL_INSIDE, SandboxHome
from manus.sandbox.interpreter import get_own_python
from manus.sandbox.limits import Limits
from manus.sandbox.look import Look
from manus.sandbox.loopback import connect_to_program
from manus.sandbox.mounts import Mount, sort_mounts
from manus.sandbox.network import Network
from manus.sandbox.own_code import find_own_code
from manus.sandbox.programs import Programs
from manus.sandbox.supervisor import WriteObserver, WriteSupervisor
from manus.state.errors import ToolUnavailableError
from manus.workspace.workspace import PRIVATE

log = logging.getLogger("manus")

CERTIFICATE_VARIABLES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"),
    *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT"),
)
"""Variables with the certificate files that programs need to verify servers."""
_FILTER_DESCRIPTOR = "9"
_LIMIT_SCRIPT = f'ulimit -f "$1"; exec {_FILTER_DESCRIPTOR}<"$2"; shift 2; exec "$@"'
_GIT_VARIABLES = {
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
}
"""Variables of git, which has no terminal; a program may set its own."""
_OWN_CODE_ERROR = (
    "Programs are not started: the workspace {workspace} contains {code}, code that runs outside "
    "the sandbox, and Landlock cannot prevent programs from changing it. Choose another workspace "
    "with `--workspace`{remedy}."
)


class Sandbox:
    """The sandbox of the programs of one run, opened by `open_sandbox`."""

    def __init__(
        self,
        kind: SandboxKind,
        settings: SandboxSettings,
        workspace: Path,
        look: Look | None = None,
        home: SandboxHome | None = None,
        network: Network | None = None,
        proxy: EgressProxy | None = None,
        writes: WriteObserver | None = None,
    ) -> None:
        self.kind = kind
        self._writes = writes
        self._supervisor: WriteSupervisor | None = None
        self.network = network
        """The programs' own network namespace; None if they share the machine's network."""
        self.limits = Limits(settings)
        self._settings = settings
        self._workspace = workspace
        self._look = look
        """Looks at files that start programs outside; only behind bubblewrap."""
        self.programs = Programs(look)
        self._home = home
        self._proxy = proxy
        self.proxy_server: asyncio.Server | None = None
        """The proxy's server for programs in the sandbox."""
        self._is_supervised = kind != "none"
        """Whether the programs' changes of files can be reported."""
        self._filter = ""
        """The path of the seccomp filter; empty if there is none."""
        if home is not None and kind == "bubblewrap":
            bubblewrap.prepare_etc(home.path)
            if rules := seccomp.build_filter():
                self._filter = str(home.path / "filter")
                Path(self._filter).write_bytes(rules)
        if home is not None:
            link_user_packages(home.path / "home")
            link_browsers(home.path / "home", os.environ)
            copy_git_settings(workspace, home.path / "home" / ".gitconfig", os.environ)

    def confine(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        directory: Path,
        extra_read: Sequence[Path] = (),
        *,
        is_user_program: bool = False,
        writes_git: bool = False,
    ) -> Confined:
        """Return the command line and environment that start a program confined. Blocking.

        Args:
            argv: the program and its arguments.
            environment: the environment variables of the program.
            directory: the directory that the program starts in.
            extra_read: paths that the program may read in addition to the settings'.
            is_user_program: the user configured the program, such as an MCP server. It is given
                the user's keys, so the workspace's tools are not first on its `PATH`.
            writes_git: the program may change repositories, except for what starts programs.
        """
        tools = find_user_tools(self._workspace, os.environ)
        if is_user_program:
            self.programs.has_servers = True
        else:
            environment = tools.apply_to(environment)
        if self._home is None:
            return Confined(tuple(argv), environment)
        home = self._home.path
        variables = {**environment, **self._build_variables(home, is_user_program)}
        exposure = self._expose_files(environment, extra_read, tools)
        if self.kind == "landlock":
            read = list(join([bubblewrap.expose_system(), exposure]).paths())
            prefix = self._build_landlock_prefix(
                home, read, reaches_proxy="http_proxy" in variables
            )
            read += [self._workspace, home]
            variables["PATH"] = select_readable_folders(variables.get("PATH", os.defpath), read)
        else:
            variables = {**_GIT_VARIABLES, **variables}
            variables["GIT_OPTIONAL_LOCKS"] = str(int(writes_git))  # else `git status` would fail
            mounts = self._list_mounts(writes_git=writes_git)
            prefix = self._build_bubblewrap_prefix(home, directory, exposure, mounts)
        return Confined((*self._build_limit_arguments(), *prefix, *argv), variables)

    def _expose_files(
        self, environment: Mapping[str, str], extra_read: Sequence[Path], tools: UserTools
    ) -> ExposedPaths:
        """Return the files that a program may read. Paths in the settings are never hidden."""
        certificates = [environment[name] for name in CERTIFICATE_VARIABLES if name in environment]
        readable = [Path(p).expanduser() for p in (*self._settings.read, *certificates)]
        read = (*readable, *extra_read, *tools.exposure.read)
        hidden = tools.exposure.hidden
        hidden = tuple(path for path in hidden if not any(map(path.is_relative_to, readable)))
        return ExposedPaths(read, hidden)

    def _build_landlock_prefix(
        self, home: Path, read: Sequence[Path], *, reaches_proxy: bool
    ) -> list[str]:
        restricts_network = self._settings.network != "open"
        return landlock.build_command(
            get_own_python(),
            self._workspace,
            home,
            read=read,
            network=restricts_network,
            port=self._port if reaches_proxy else None,
            rules=seccomp.build_filter(
                *seccomp.SHARED_RULES, *(seccomp.SHARED_NETWORK_RULES if restricts_network else ())
            ),
        )

    def _build_bubblewrap_prefix(
        self, home: Path, directory: Path, exposure: ExposedPaths, mounts: list[Mount]
    ) -> list[str]:
        arguments = bubblewrap.build_arguments(
            self._workspace,
            home,
            directory,
            read=exposure.read,
            mounts=mounts,
            hidden=(*exposure.hidden, find_rehash_programs(os.environ)),
            filter_at=self._filter and _FILTER_DESCRIPTOR,
        )
        return [bubblewrap.find_program(), *arguments]

    def _list_mounts(self, *, writes_git: bool) -> list[Mount]:
        """Return the mounts in the workspace, and remember what is read-only. Blocking."""
        root = self._workspace
        repositories = self._look.repositories if self._look is not None else ()
        closed = [root / PRIVATE, root / "manus.toml", *find_own_code(root)]
        if writes_git:
            git_mounts = mount_writable(repositories, root)
        else:
            git_mounts = mount_read_only(repositories, root)
            if self._look is not None:
                closed += self._look.list_patterns()
        mounts = sort_mounts([*(Mount(path, is_writable=False) for path in closed), *git_mounts])
        read_only = [path for path, is_writable in mounts if not is_writable]
        self.programs.note_closed(read_only, writes_git=writes_git)
        return mounts

    @property
    def guards_repository(self) -> bool:
        """Return whether repositories of the user are read-only for programs."""
        return self._look is not None and self._look.has_repositories

    def _build_limit_arguments(self) -> tuple[str, ...]:
        """Return the words that limit the size of files and enter the sandbox's network."""
        blocks = self._settings.file_megabytes * 1_000_000 // 512
        # an absolute path, since the `PATH` may contain a program `sh` in the workspace
        limited = ("/bin/sh", "-c", _LIMIT_SCRIPT, "sh", str(blocks), self._filter or os.devnull)
        entry = self.network.entry if self.network else ()
        return (*limited, *entry)

    @property
    def shell_folder(self) -> tuple[Path, Path] | None:
        """Return the paths of the shell's folder, for us and for programs; None without sandbox."""
        if self._home is None:
            return None
        outside = self._home.path / SHELL
        return outside, Path(SHELL_INSIDE) if self.kind == "bubblewrap" else outside

    def exit_code(self, code: int) -> int:
        """Convert the exit code of bubblewrap, 128 + N for signal N, to the program's code."""
        if self.kind == "bubblewrap" and 128 < code < 160:
            return 128 - code
        return code

    @property
    def mark(self) -> int:
        """Return the number of failed requests so far, as a mark for `describe_failures`."""
        return self._proxy.incidents.count if self._proxy else 0

    def describe_failures(self, mark: int, printed: str) -> str:
        """Return notes on requests that failed since a mark, and on exceeded limits."""
        describe = {"bubblewrap": describe_denials, "landlock": describe_outside}.get(self.kind)
        notes = describe(printed) if describe is not None else ""
        notes += self.limits.take_notice()
        if self._proxy is None:
            return notes
        incidents = self._proxy.incidents.since(mark)
        return notes + describe_incidents([i for i in incidents if i.proxy_port == self._port])

    def _build_variables(self, home: Path, is_user_program: bool) -> dict[str, str]:
        variables = {"HOME": str(home / "home"), "TMPDIR": str(home / "tmp")}
        if self.kind == "bubblewrap":
            variables = {"HOME": HOME, "TMPDIR": "/tmp"}
        # the copy in `$HOME` has the system settings that programs may see
        variables["GIT_CONFIG_NOSYSTEM"] = "1"
        if GIT_CONFIG_VARIABLE in os.environ:
            variables[GIT_CONFIG_VARIABLE] = f"{variables['HOME']}/.gitconfig"
        if (rust := Path.home() / ".rustup").is_dir():  # otherwise rustup searches `$HOME` inside
            variables["RUSTUP_HOME"] = str(rust)
        if self._proxy is not None and self._settings.network == "rules":
            user = f"{self._proxy.key}@" if is_user_program else ""
            names = ("http_proxy", "https_proxy", "all_proxy")
            proxy = f"http://{user}127.0.0.1:{self._port}"
            variables |= dict.fromkeys((*names, *map(str.upper, names)), proxy)
            if self.network is not None:  # else only the proxy reaches servers of the programs
                variables |= dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1")
            variables["NODE_USE_ENV_PROXY"] = "1"
        return variables

    @property
    def _port(self) -> int | None:
        """Return the port of the proxy for programs; None if they have none."""
        if self.proxy_server is None:
            return None
        return int(self.proxy_server.sockets[0].getsockname()[1])

    def set_git_config(self, change: ConfigChange) -> None:
        """Write a configuration that the user has approved. Blocking."""
        apply_change(change)
        if self._look is not None:
            self._look.accept_file(change.file)

    async def connect_to_program(self, port: int) -> socket.socket | None:
        """Connect to a server of the programs on loopback; return None if there is none."""
        return await asyncio.to_thread(connect_to_program, self.programs.roots, port)

    async def supervise(self) -> WriteSupervisor | None:
        """Return what starts programs and reports their writes; None if nobody is to know.

        If the system does not support it, all changes from now on have an unknown author.
        """
        if self._writes is not None and self._is_supervised and self._supervisor is None:
            try:
                create = partial(WriteSupervisor, self._workspace, self._writes)
                self._supervisor = await asyncio.to_thread(create)
            except OSError as error:
                log.info("Programs' changes of files are not attributed: %s", error)
                self._is_supervised = False
        if self._writes is not None and not self._is_supervised:
            self._writes.note_unknown(for_good=True)
        return self._supervisor

    async def close(self) -> None:
        """End the sandbox's services and network, and remove the programs' own folders."""
        await asyncio.to_thread(self.programs.end)
        if self._supervisor is not None:
            await asyncio.to_thread(self._supervisor.close)
        if self.proxy_server is not None:
            self.proxy_server.close()
        if self._proxy is not None:
            self._proxy.rules.inside = None
        if self.network is not None:
            await asyncio.to_thread(self.network.close)
        if self._home is not None:
            await asyncio.to_thread(self._home.close)


async def open_sandbox(
    settings: SandboxSettings,
    workspace: Path,
    proxy: EgressProxy,
    records: Path,
    writes: WriteObserver | None = None,
    approved_writes: Mapping[Path, str] = MappingProxyType({}),
) -> Sandbox:
    """Open a sandbox whose programs reach the network through the proxy.

    `records` is the folder of the run's private records; `writes` receives the paths that the
    programs change; `approved_writes` are the SHA-256 of what approved calls have written.

    Raises:
        ToolUnavailableError: the configured sandbox does not work here, or the workspace
            contains code that it cannot protect.
    """

    def create() -> Sandbox:
        try:
            kind, network, advice = select_sandbox(settings)
        except ToolUnavailableError:
            if settings.kind != "auto":
                raise
            kind = "none"
        if kind == "none":
            return Sandbox(kind, settings, workspace, writes=writes)
        if kind == "landlock" and (code := find_own_code(workspace)):
            remedy = f", or use bubblewrap: {advice.remedy}" if advice else ""
            text = _OWN_CODE_ERROR.format(code=code[0], workspace=workspace, remedy=remedy)
            raise ToolUnavailableError(text)
        look = None
        if kind == "bubblewrap":  # Landlock cannot keep programs from changing what was looked at
            look = Look(workspace, records, approved_writes)
            look.start()
        return Sandbox(kind, settings, workspace, look, SandboxHome(), network, proxy, writes)

    sandbox = await asyncio.to_thread(create)
    try:
        if (network := sandbox.network) is not None:
            proxy.rules.inside = network.connect
        elif sandbox.kind == "landlock" and settings.network != "open":
            proxy.rules.inside = sandbox.connect_to_program
        if settings.network == "rules" and sandbox.kind != "none":
            listener = network.listener if network else socket.create_server(("127.0.0.1", 0))
            sandbox.proxy_server = await proxy.listen(listener)
    except BaseException:
        await sandbox.close()
        raise
    return sandbox
