"""A PostgreSQL server for the tests: on loopback, in its own folder, removed at the end."""

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.port import free_port

PASSWORD = "pass%word&é"
"""Contains characters that a URL must encode."""
_ENCODED = "pass%25word%26%C3%A9"


def binaries() -> Path | None:
    """Return the folder with `initdb` and `pg_ctl`, which Debian does not put on the PATH."""
    on_path = shutil.which("initdb")
    here = [Path(on_path).parent] if on_path else []
    return next(iter([*Path("/usr/lib/postgresql").glob("*/bin"), *here]), None)


@dataclass(frozen=True)
class PostgresServer:
    port: int
    folder: Path

    def url(self, database: str) -> str:
        return f"postgresql://manus:{_ENCODED}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        import psycopg

        name = f"t{secrets.token_hex(6)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return self.url(name)

    def start(self, *options: str, wait: bool = True) -> None:
        """Start the server; without `wait` it may not accept connections yet."""
        place = f"-p {self.port} -c listen_addresses=127.0.0.1 -k {self.folder} -c fsync=off"
        command: list[str | Path] = [
            "start",
            "-l",
            self.folder / "log",
            "-o",
            " ".join([place, *options]),
        ]
        self._control(*command, "-w" if wait else "-W")

    def stop(self, mode: str = "fast") -> None:
        self._control("-m", mode, "-w", "stop")

    @contextmanager
    def starting_up(self) -> Iterator[None]:
        """Let the restarted server refuse connections for the duration of a block."""
        self.stop()
        _as_postgres(["touch", self.folder / "data" / "standby.signal"])
        self.start("-c hot_standby=off", wait=False)
        from psycopg.pq import PGconn, Ping

        address = f"host=127.0.0.1 port={self.port}".encode()
        while PGconn.ping(address) != Ping.REJECT:
            time.sleep(0.01)
        yield
        self._control("-w", "promote")

    def _control(self, *words: str | Path) -> None:
        tools = binaries()
        assert tools is not None
        _as_postgres([tools / "pg_ctl", "-D", self.folder / "data", *words])


@contextmanager
def running(folder: Path) -> Iterator[PostgresServer]:
    tools = binaries()
    assert tools is not None
    data, secret = folder / "data", folder / "password"
    secret.write_text(PASSWORD)
    if os.geteuid() == 0:
        for path in (folder, secret):
            shutil.chown(path, "postgres", "postgres")
    port = free_port()
    access = ["-U", "manus", "-A", "scram-sha-256", f"--pwfile={secret}"]
    _as_postgres([tools / "initdb", "-D", data, *access, "-E", "UTF8", "--locale=C", "--no-sync"])
    server = PostgresServer(port, folder)
    server.start()
    try:
        yield server
    finally:
        server.stop("immediate")


def _as_postgres(command: Sequence[str | Path]) -> None:
    """Run a command; if this is root, as the user `postgres`: the server refuses to run as root."""
    # the tools of root are not on an ordinary user's PATH
    runuser = shutil.which("runuser") or "/usr/sbin/runuser"
    as_user = [runuser, "-u", "postgres", "--"] if os.geteuid() == 0 else []
    process = subprocess.run(
        [*as_user, *map(str, command)],
        cwd="/",
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    assert process.returncode == 0, process.stderr.decode()
