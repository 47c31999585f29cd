"""How the values in a path are read and written."""


class Text:
    pattern = "[^/]+"

    def read(self, text):
        return text

    def write(self, value):
        return str(value)


class Int:
    pattern = "[0-9]+"

    def read(self, text):
        return int(text)

    def write(self, value):
        if int(value) < 0:
            raise ValueError("a number in a path cannot be negative")
        return str(int(value))


class Path:
    pattern = ".+"

    def read(self, text):
        return text

    def write(self, value):
        return str(value)


CONVERTERS = {"text": Text(), "int": Int(), "path": Path()}
