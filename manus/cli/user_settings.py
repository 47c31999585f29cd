"""Write the user's own settings."""

from __future__ import annotations

from typing import Any

from manus.cli.notes import print_note
from manus.config.files import make_private_folder, write_atomically
from manus.config.settings import user_file
from manus.state.errors import UsageError

_REPLACED = ("model", "base_url", "api_key", "api_version", "workspace")
"""Settings that the answers replace or remove."""


def save_settings(values: dict[str, Any]) -> None:
    """Write the settings to the user's file; keep all others in it. Blocking.

    Raises:
        UsageError: the file cannot be read or written.
    """
    import tomlkit

    file = user_file()
    try:
        make_private_folder(file.parent)
        document = tomlkit.parse(file.read_text("utf-8")) if file.exists() else tomlkit.document()
        for name in _REPLACED:
            document.pop(name, None)
        if "approve" in values:
            document.setdefault("approve", {})["mode"] = values.pop("approve")
        document.update(values)
        write_atomically(file, tomlkit.dumps(document).encode(), 0o600, keep_mode=False)
    except (OSError, tomlkit.exceptions.ParseError) as error:
        raise UsageError(f"Cannot change {file} ({error}); correct or move it first.") from None
    print_note(f"\nSaved in {file}.")
