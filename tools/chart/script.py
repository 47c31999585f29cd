"""The program that draws a page. Putting it together takes seconds, so it is kept. Blocking."""

from __future__ import annotations

import contextlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

from manus.state.files import write_atomically


def lacks_script(cache: str) -> bool:
    """Whether it has to be put together first; not where the package for it is missing."""
    with contextlib.suppress(PackageNotFoundError):
        return not _file(Path(cache)).exists()
    return False


def script(cache: Path) -> str:
    """The program, of the cache if it is there."""
    import vl_convert

    kept = _file(cache)
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return kept.read_text("utf-8")
    bundle: str = vl_convert.javascript_bundle(cast(Any, None))  # its types want a snippet
    with contextlib.suppress(OSError):  # a cache that cannot be written is none
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, bundle.encode())
    return bundle


def _file(cache: Path) -> Path:
    return cache / f"vega-{version('vl-convert-python')}.js"
