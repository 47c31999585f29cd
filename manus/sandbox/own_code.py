"""Code that runs outside the sandbox: manus, its Python, and modules named in the settings."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from manus.config.named_code import code_files
from manus.sandbox.interpreter import get_own_prefixes


def find_own_code(workspace: Path) -> list[Path]:
    """Return the files and folders of such code in a workspace, outermost first. Blocking.

    A program in the sandbox that could write there would later run outside it.
    """
    paths = [*get_own_prefixes(), *_find_package_folders(), *code_files(workspace)]
    inside = sorted({path for path in paths if path.is_relative_to(workspace)})
    return [path for path in inside if not any(other in path.parents for other in inside)]


def _find_package_folders() -> list[Path]:
    """Return the folders that the package `manus` is imported from."""
    package = find_spec("manus")
    if package is None or package.submodule_search_locations is None:
        return []
    return [Path(path).resolve() for path in package.submodule_search_locations]
