"""Read `name = value` lines."""


def read_lines(lines):
    """Return the values of lines; empty lines and those that begin with # count as comments."""
    values = {}
    for line in lines:
        line = line.split("#")[0].strip()
        if line:
            name, value = line.split("=")
            values[name.strip()] = value.strip()
    return values
