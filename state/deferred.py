"""Packages whose `__init__` runs when a name in it is first wanted, not when a module of it is."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import Any


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
