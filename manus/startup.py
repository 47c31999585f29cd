"""What makes the command line start fast; nothing else uses it, and a library does none of it."""

from __future__ import annotations

import gc
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import Any

from pydantic import BaseModel


class _Deferred(ModuleType):
    """A package of which only the place is known: enough to import the modules in it."""

    def __getattr__(self, name: str) -> Any:
        """Run the package's `__init__`, once; other threads wait for it as for any import."""
        with self.__dict__["_deferred_lock"]:
            if type(self) is _Deferred and not self.__dict__.get("_deferred_running"):
                _run(self)
        # Found in its dictionary now; asking it again would come back here while it is half made.
        if name in self.__dict__:
            return self.__dict__[name]
        own = self.__dict__.get("__getattr__")
        if own is not None:
            return own(name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def defer(*names: str) -> None:
    """Have these packages' `__init__` run at the first look at a name in them.

    For packages of which another library needs one small module: running the whole `__init__` for
    it would load a client for every service. A package that is already imported, or not installed,
    is left alone; in all else it stays what it is for everybody in the process. The package around
    one is not imported for it: it has to name it in its own `__init__`, or be imported before.
    """
    for name in names:
        spec = None if name in sys.modules else _found(name)
        if spec is None or spec.loader is None:
            continue
        package = importlib.util.module_from_spec(spec)
        package.__dict__["_deferred_lock"] = RLock()
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
def built_when_used() -> Iterator[None]:
    """Every model that is defined in the block is built at its first use.

    For libraries that define dozens of which a run uses none. It is pydantic's own `defer_build`,
    given to classes that do not say it themselves; subclasses of theirs have it too.
    """
    inherited = BaseModel.model_config
    before = inherited.get("defer_build")
    inherited["defer_build"] = True
    try:
        yield
    finally:
        if before is None:
            inherited.pop("defer_build", None)
        else:
            inherited["defer_build"] = before


@contextmanager
def paused_collector() -> Iterator[None]:
    """No collections in the block, and what it made is not looked through again after it.

    Imports of large packages make a few hundred thousand objects that live as long as the process.
    Going through them again and again is a third of the time to the first request.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


def load() -> None:
    """Import the agent's graph as the program starts: what no run uses is put off."""
    import langsmith as _langsmith  # noqa: F401  # names none of its own types: see `defer`

    # Of these LangGraph and we need a small module each, not the clients and models of the rest.
    defer("langsmith.types", "langgraph_sdk", "langchain_openai", "langchain_openai.chat_models")
    # Two thirds of openai are the types of endpoints that are not asked.
    defer("openai.types", "openai.types.responses", "openai.types.graders")
    with paused_collector():
        # LangChain names one class of LangSmith's, which has all its models defined.
        with built_when_used():
            import langsmith.run_trees as _run_trees  # noqa: F401
        import manus.graph.agent  # noqa: F401
