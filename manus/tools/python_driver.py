"""The program of a Python session: IPython that executes the cells named on its stdin.

Called as `python_driver.py DESCRIPTOR`. A line of stdin is a JSON list: `[number, cell, output]`
names the file of a cell and the FIFO of its output, and `[number]` interrupts that cell. What it
writes to the descriptor, ended by a null byte: the number, the exit status, and the names of the
session's variables as JSON. It imports nothing of manus, since it runs in the sandbox.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import tempfile
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

from IPython.core.history import HistoryManager
from IPython.core.interactiveshell import InteractiveShell

_MAX_NAMES = 30


class _CellRunner(InteractiveShell):
    system = InteractiveShell.system_raw  # the default needs a terminal

    def init_history(self) -> None:
        """Keep no history in a file."""
        self.history_manager = HistoryManager(shell=self, parent=self, enabled=False)


class Driver:
    """One session: its namespace, and the cell that is being executed."""

    def __init__(self, reports: int) -> None:
        self._reports = reports
        self._running = 0
        """The number of the cell that is being executed; 0 if there is none."""
        self._requests: queue.SimpleQueue[list[Any] | None] = queue.SimpleQueue()
        self._shell: Any = _CellRunner.instance(colors="nocolor", xmode="Plain")
        self._own_names = {*self._shell.user_ns}
        signal.signal(signal.SIGINT, self._interrupt)

    def run(self) -> None:
        """Execute cells until stdin is closed."""
        stdin = os.fdopen(os.dup(0), encoding="utf-8")
        _redirect(os.devnull, os.O_RDONLY, 0)
        threading.Thread(target=self._read, args=(stdin,), daemon=True).start()
        while (request := self._requests.get()) is not None:
            number, cell, output = request
            _redirect(output, os.O_WRONLY, 1, 2)
            text = Path(cell).read_text(encoding="utf-8", errors="replace")
            status = self._execute(number, text)
            _redirect(os.devnull, os.O_WRONLY, 1, 2)
            report = f"{number} {status} {json.dumps(self._list_names())}\0"
            os.write(self._reports, report.encode())

    def _execute(self, number: int, text: str) -> int:
        """Execute a cell and return its exit status."""
        try:
            self._running = number
            result = self._shell.run_cell(text, store_history=True)
            self._running = 0
        except KeyboardInterrupt:
            return 130
        error = result.error_before_exec or result.error_in_exec
        if isinstance(error, KeyboardInterrupt):
            return 130
        if isinstance(error, SystemExit):
            return error.code if isinstance(error.code, int) else int(error.code is not None)
        return 0 if result.success else 1

    def _read(self, stdin: Any) -> None:
        for line in stdin:
            request = json.loads(line)
            if len(request) > 1:
                self._requests.put(request)
            elif request[0] == self._running:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        self._requests.put(None)

    def _interrupt(self, *_: Any) -> None:
        if self._running:  # otherwise the cell has just ended
            raise KeyboardInterrupt

    def _list_names(self) -> list[str]:
        """Return the names of the session's variables, the newest last."""
        names = [
            name
            for name, value in self._shell.user_ns.items()
            if name not in self._own_names
            and not name.startswith("_")
            and not isinstance(value, ModuleType)
        ]
        return names[-_MAX_NAMES:]


def _redirect(path: str, flags: int, *descriptors: int) -> None:
    opened = os.open(path, flags)
    for descriptor in descriptors:
        os.dup2(opened, descriptor)
    os.close(opened)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:  # rather than the user's own settings
        os.environ["IPYTHONDIR"] = folder
        Driver(int(sys.argv[1])).run()
