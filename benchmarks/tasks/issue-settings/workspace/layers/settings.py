"""The layers, the last of which wins."""

from layers.expansion import expand
from layers.lines import read_lines


class Settings:
    def __init__(self, defaults=None):
        self._layers = [dict(defaults or {})]

    def add_lines(self, lines):
        self._layers.append(read_lines(lines))

    def add_environment(self, environment, prefix):
        values = {}
        for name, value in environment.items():
            if name.startswith(prefix):
                values[name.removeprefix(prefix).lower()] = value
        self._layers.append(values)

    def raw(self, name):
        for layer in reversed(self._layers):
            if name in layer:
                return layer[name]
        raise KeyError(name)

    def __getitem__(self, name):
        return expand(self.raw(name), self.raw)

    def __contains__(self, name):
        return any(name in layer for layer in self._layers)
