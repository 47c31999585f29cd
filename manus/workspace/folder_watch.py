"""Count the changes below a folder that the kernel reports through inotify."""

from __future__ import annotations

import ctypes
import errno
import gc
import os
import threading
import weakref
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED = 0x2, 0x4, 0x8, 0xC0
_CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x100, 0x200, 0x400, 0x800
# a mapped file is only reported when it is opened for writing and closed, or unmapped
_EVENTS = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
_LOCAL = frozenset(
    {
        *(0xEF53, 0x58465342, 0x9123683E, 0xF2F52010),  # ext, XFS, Btrfs, F2FS
        *(0x01021994, 0x794C7630, 0x2FC12FC1, 0xCA451A4E),  # tmpfs, overlay, ZFS, bcachefs
    }
)
"""Types of file systems that only this machine changes, so that the kernel sees each change."""


class FolderWatch:
    """The watch of a folder and those below it, which all threads on the folder share."""

    def __init__(self) -> None:
        """Create a watch of no folder; it counts a change at each call if the kernel has none."""
        self._lock = threading.Lock()
        self._changes = 0
        self._descriptor = _open_instance()
        self._is_complete = self._descriptor >= 0
        if self._is_complete:
            weakref.finalize(self, os.close, self._descriptor)

    def add(self, folder: int) -> None:
        """Watch the entries of an open folder, before they are listed."""
        if not self._is_complete:
            return
        kind = ctypes.create_string_buffer(256)  # begins with a long, the type
        _libc.fstatfs(folder, kind)
        path = b"/proc/self/fd/%d" % folder
        is_local = ctypes.c_long.from_buffer(kind).value in _LOCAL
        if not is_local or _libc.inotify_add_watch(self._descriptor, path, _EVENTS) < 0:
            self.give_up()  # or the user's limit is reached

    def give_up(self) -> None:
        """Count a change at each call from now on, because there may be unreported ones."""
        self._is_complete = False

    def count(self) -> int:
        """Return a number that is greater than before if anything may have changed since."""
        with self._lock:
            if not self._is_complete:
                self._changes += 1
            else:
                while self._read():
                    self._changes += 1
            return self._changes

    def _read(self) -> bool:
        try:
            return bool(os.read(self._descriptor, 65_536))
        except BlockingIOError:
            return False


def _open_instance() -> int:
    """Return the descriptor of a new inotify instance; negative if there is none."""
    flags = os.O_NONBLOCK | os.O_CLOEXEC
    descriptor: int = _libc.inotify_init1(flags)
    if descriptor < 0 and ctypes.get_errno() == errno.EMFILE:
        gc.collect()  # watches that nobody uses any more may hold the few of a user
        descriptor = _libc.inotify_init1(flags)
    return descriptor


_watches: weakref.WeakValueDictionary[Path, FolderWatch] = weakref.WeakValueDictionary()


def watch_folder(root: Path) -> FolderWatch:
    """Return the watch of a folder, the same for all threads: few are allowed for each user."""
    watch = _watches.get(root)
    if watch is None:
        watch = _watches[root] = FolderWatch()
    return watch
