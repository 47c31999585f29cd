"""A pattern of a path, such as `/users/<id:int>/files/<rest:path>`."""

import re

from routes.converters import CONVERTERS

_VALUE = re.compile(r"<(\w+)(?::(\w+))?>")


class Pattern:
    def __init__(self, text):
        self.text = text
        self.converters = {}
        regex = ""
        position = 0
        for found in _VALUE.finditer(text):
            name, kind = found[1], found[2] or "text"
            self.converters[name] = CONVERTERS[kind]
            regex += re.escape(text[position : found.start()])
            regex += f"(?P<{name}>{CONVERTERS[kind].pattern})"
            position = found.end()
        self._regex = re.compile(regex + re.escape(text[position:]))

    @property
    def rank(self):
        """Literal segments first, paths last."""
        kinds = [len(_VALUE.findall(segment)) for segment in self.text.split("/")]
        has_path = any(c is CONVERTERS["path"] for c in self.converters.values())
        return (has_path, kinds)

    def read(self, path):
        found = self._regex.fullmatch(path)
        if found is None:
            return None
        values = found.groupdict()
        return {name: self.converters[name].read(text) for name, text in values.items()}

    def write(self, values):
        if missing := self.converters.keys() - values.keys():
            raise KeyError(f"no value for {', '.join(sorted(missing))}")
        return _VALUE.sub(lambda found: self.converters[found[1]].write(values[found[1]]), self.text)
