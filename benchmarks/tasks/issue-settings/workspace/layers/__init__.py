"""Settings in layers."""

from layers.settings import Settings

__all__ = ["Settings"]
