"""The router: patterns by rank, and by name."""

from dataclasses import dataclass, field

from routes.pattern import Pattern


class NoRouteError(LookupError):
    """No pattern fits the path, or there is none of that name."""


@dataclass(frozen=True)
class Match:
    name: str
    values: dict = field(default_factory=dict)


class Router:
    def __init__(self):
        self._patterns = {}

    def add(self, text, name):
        if name in self._patterns:
            raise ValueError(f"there is a route {name} already")
        self._patterns[name] = Pattern(text)

    def match(self, path):
        for name, pattern in sorted(self._patterns.items(), key=lambda item: item[1].rank):
            values = pattern.read(path.partition("?")[0])
            if values is not None:
                return Match(name, values)
        raise NoRouteError(path)

    def url_for(self, name, /, **values):
        if name not in self._patterns:
            raise NoRouteError(name)
        return self._patterns[name].write(values)
