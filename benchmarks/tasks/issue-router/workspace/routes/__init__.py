"""Maps paths to handlers, and names back to paths."""

from routes.router import Match, NoRouteError, Router

__all__ = ["Match", "NoRouteError", "Router"]
