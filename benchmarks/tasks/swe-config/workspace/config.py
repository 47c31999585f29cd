"""Settings from a JSON file, over defaults."""

import json

DEFAULTS = {
    "debug": False,
    "server": {"host": "localhost", "port": 80, "tls": {"on": False, "ciphers": ["a", "b"]}},
    "paths": ["/srv"],
}


def load(path):
    """The settings of a file."""
    settings = DEFAULTS
    with open(path) as file:
        over = json.load(file)
    for key, value in over.items():
        settings[key] = value
    return settings
