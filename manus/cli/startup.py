"""What makes the command line start fast; nothing else uses it, and a library does none of it.

LangGraph and LangChain import clients and models of services that a run never asks. Without this,
`manus run` needs twice the time to its first request (`make bench ARGS="--only start"`).
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
    """Import what a run needs."""
    with _paused_collector():
        import langsmith

        # Of these a small module each is used; two thirds of openai are types of other endpoints.
        defer(
            "langsmith.types", "langgraph_sdk", "langchain_openai", "langchain_openai.chat_models"
        )
        defer("openai.types", "openai.types.responses", "openai.types.graders")
        import langsmith.run_trees  # noqa: F401

        from manus.models.tls import ssl_context

        # Read beside the imports, without the interpreter's lock; who needs it meets its error.
        ThreadPoolExecutor(1).submit(ssl_context)

        import manus.cli.run
        import manus.graph.agent
        import manus.models.openai_chat
        import manus.store.sqlite  # noqa: F401


class _Deferred(ModuleType):
    """A package of which only the place is known: enough to import the modules in it."""

    def __getattr__(self, name: str) -> Any:
        """Run the package's `__init__`, once; other threads wait for it as for any import."""
        with self.__dict__["_deferred_lock"]:
            if type(self) is _Deferred and not self.__dict__["_deferred_running"]:
                _run(self)
        # Found in its dictionary now; asking it again would come back here while it is half made.
        if name in self.__dict__:
            return self.__dict__[name]
        if (own := self.__dict__.get("__getattr__")) is not None:
            return own(name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def defer(*names: str) -> None:
    """Have these packages' `__init__` run at the first look at a name in them.

    One that is already imported, or not installed, is left alone; in all else it stays what it is
    for everybody in the process. The package around one is not imported for it.
    """
    for name in names:
        spec = None if name in sys.modules else _found(name)
        if spec is None or spec.loader is None:
            continue
        package = importlib.util.module_from_spec(spec)
        package.__dict__.update(_deferred_lock=RLock(), _deferred_running=False)
        package.__class__ = _Deferred
        sys.modules[name] = package
        parent, _, child = name.rpartition(".")
        if parent in sys.modules:
            setattr(sys.modules[parent], child, package)


def _found(name: str) -> ModuleSpec | None:
    """Where a package is, without importing the one it is in, as `find_spec` would."""
    parent, _, _ = name.rpartition(".")
    if not parent or parent in sys.modules:
        return importlib.util.find_spec(name)
    around = _found(parent)
    places = around.submodule_search_locations if around else None
    return PathFinder.find_spec(name, places) if places else None


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
    """No collection of garbage in the block: what it makes lives as long as the process."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
