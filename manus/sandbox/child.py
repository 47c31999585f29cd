"""A program that this process has started."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self


class Child:
    """A program in its own session.

    It is started by `subprocess`: closing an event loop while asyncio connects the pipes of a
    process would never return.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.pid = process.pid

    @classmethod
    def launch(
        cls,
        argv: Sequence[str],
        *,
        directory: Path,
        environment: Mapping[str, str],
        stdin: int,
        output: int,
        descriptors: Sequence[int],
    ) -> Self:
        """Start a program; see `manus.sandbox.process.start`. Blocks for a moment.

        Raises:
            OSError: the program cannot be started.
        """
        process = subprocess.Popen(
            argv,
            cwd=directory,
            env=environment,
            stdin=stdin,
            stdout=output,
            stderr=output,
            pass_fds=descriptors,
            start_new_session=True,
        )
        return cls(process)

    @property
    def returncode(self) -> int | None:
        """Return the exit code, or None while the program is running."""
        return self._process.poll()

    async def wait(self) -> int:
        """Wait until the program exits; return its exit code."""
        if (code := self.returncode) is not None:
            return code
        if not hasattr(os, "pidfd_open"):  # not Linux
            return await asyncio.to_thread(self._process.wait)
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        descriptor = os.pidfd_open(self.pid)
        loop.add_reader(descriptor, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)
        return self._process.wait()
