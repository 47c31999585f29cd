"""Replace the references in a value."""

import re

_REFERENCE = re.compile(r"\$\{(\w+)\}")


def expand(value, lookup):
    """Return a value with each `${name}` replaced by what `lookup` returns for the name."""
    while _REFERENCE.search(value):
        value = _REFERENCE.sub(lambda found: lookup(found[1]), value)
    return value.replace("$$", "$")
