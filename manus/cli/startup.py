"""Make the command line start fast. Only the command line does this, never the library.

LangGraph and LangChain import clients and types of services that a run never uses. Without this,
`manus run` takes twice as long to its first request (`make bench ARGS="--only start"`).
"""

from __future__ import annotations

import gc
import importlib.util
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import Any


def load() -> None:
    """Import the modules that a run needs."""
    with _paused_collector():
        import langsmith

        # Only a small module of each is used; two thirds of openai are types of other endpoints.
        defer(
            "langsmith.types", "langgraph_sdk", "langchain_openai", "langchain_openai.chat_models"
        )
        defer("openai.types", "openai.types.responses", "openai.types.graders")
        import langsmith.run_trees  # noqa: F401

        from manus.models.tls import ssl_context

        # Runs in parallel, mostly without the GIL; a later use raises its error again.
        ThreadPoolExecutor(1).submit(ssl_context)

        import manus.cli.run
        import manus.graph.agent
        import manus.models.openai_chat
        import manus.threads.sqlite  # noqa: F401


class _Deferred(ModuleType):
    """A package whose `__init__` has not run; its submodules can already be imported."""

    def __getattr__(self, name: str) -> Any:
        """Run the package's `__init__`, once; other threads wait for it as for any import."""
        with self.__dict__["_deferred_lock"]:
            if type(self) is _Deferred and not self.__dict__["_deferred_running"]:
                _run(self)
        # Look in its dictionary: getattr would recurse while the package is half initialized.
        if name in self.__dict__:
            return self.__dict__[name]
        if (getter := self.__dict__.get("__getattr__")) is not None:
            return getter(name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def defer(*names: str) -> None:
    """Defer these packages' `__init__` until the first access to one of their names.

    Packages that are already imported or not installed are skipped. Otherwise a package behaves as
    usual for the whole process. Its parent package is not imported.
    """
    for name in names:
        spec = None if name in sys.modules else _find_spec(name)
        if spec is None or spec.loader is None:
            continue
        package = importlib.util.module_from_spec(spec)
        package.__dict__.update(_deferred_lock=RLock(), _deferred_running=False)
        package.__class__ = _Deferred
        sys.modules[name] = package
        parent, _, child = name.rpartition(".")
        if parent in sys.modules:
            setattr(sys.modules[parent], child, package)


def _find_spec(name: str) -> ModuleSpec | None:
    """Return the spec of a package without importing its parent, as `find_spec` would."""
    parent, _, _ = name.rpartition(".")
    if not parent or parent in sys.modules:
        return importlib.util.find_spec(name)
    parent_spec = _find_spec(parent)
    paths = parent_spec.submodule_search_locations if parent_spec else None
    return PathFinder.find_spec(name, paths) if paths else None


def _run(package: ModuleType) -> None:
    spec = package.__spec__
    if spec is None or spec.loader is None:
        return
    package.__dict__["_deferred_running"] = True
    try:
        spec.loader.exec_module(package)
    finally:
        package.__dict__["_deferred_running"] = False
    package.__class__ = ModuleType


@contextmanager
def _paused_collector() -> Iterator[None]:
    """Disable garbage collection in the block; its objects live as long as the process."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
