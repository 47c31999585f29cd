"""Our settings file, written so that nobody but its owner can read it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from manus.openmanus.toml import as_toml
from manus.openmanus.translate import Translation
from manus.state.errors import UsageError
from manus.text import flat

_HEAD = """\
# Made from {files} by `manus import-config`.
# Keys are in it, or may come to be: nobody but you can read this file; keep it so.

"""


def write_settings(
    done: Translation, files: Sequence[Path], output: Path, *, replace: bool
) -> None:
    """Write the settings. A file that is there is lost only for a whole new one.

    Raises:
        UsageError: there is nothing to be written, or the file is there already, or cannot be.
    """
    named = " and ".join(map(str, files))
    if not done.taken:
        raise UsageError(f"There is nothing in {named} that could be taken over.")
    if output.is_dir():
        raise UsageError(f"{output} is a folder; name the file to write with --output FILE.")
    text = (_HEAD.format(files=flat(named)) + as_toml(done.values)).encode("utf-8", "replace")
    try:
        _write(output, text, replace)
    except FileExistsError:
        raise UsageError(
            f"{output} is there already and was left as it is: --force replaces it, "
            "--output FILE writes another."
        ) from None
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}.") from None


def _write(path: Path, text: bytes, replace: bool) -> None:
    """Whole or not at all, whenever the program is stopped."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    _write_new(beside, text)
    try:
        if replace:
            beside.replace(path)
        else:
            _put_where_nothing_is(beside, path, text)
    finally:
        beside.unlink(missing_ok=True)


def _put_where_nothing_is(beside: Path, path: Path, text: bytes) -> None:
    try:
        path.hardlink_to(beside)
    except FileExistsError:
        raise
    except OSError:  # not every file system has links
        _write_new(path, text)


def _write_new(path: Path, text: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
