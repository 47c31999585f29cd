"""A general agent: `from manus import build_agent, build_flow`.

The rooms of the house are its subpackages: `prompts`, `state`, `models`, `tools`, `nodes`, `graph`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manus.graph.agent import build_agent
    from manus.graph.flow import build_flow

__version__ = "0.1.0"
__all__ = ["__version__", "build_agent", "build_flow"]


def __getattr__(name: str) -> Any:
    """The graphs' builders, imported when first asked for: the command line starts without."""
    if name not in ("build_agent", "build_flow"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"manus.graph.{name.removeprefix('build_')}"), name)
