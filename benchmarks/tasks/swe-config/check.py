import json
import sys
from pathlib import Path

given = Path(__file__).parent / "workspace"
if Path("site.json").read_text() != (given / "site.json").read_text():
    sys.exit("site.json was changed")
sys.path.insert(0, ".")
import config

DEFAULTS = {
    "debug": False,
    "server": {"host": "localhost", "port": 80, "tls": {"on": False, "ciphers": ["a", "b"]}},
    "paths": ["/srv"],
}
file = Path("checked.json")
for over, wanted in [
    (
        {"server": {"port": 8080, "tls": {"on": True}}, "new": {"deep": {"er": 1}}},
        {
            "debug": False,
            "server": {"host": "localhost", "port": 8080, "tls": {"on": True, "ciphers": ["a", "b"]}},
            "paths": ["/srv"],
            "new": {"deep": {"er": 1}},
        },
    ),
    ({"paths": ["/x"], "debug": None}, {**DEFAULTS, "paths": ["/x"], "debug": None}),
    ({"server": {"tls": {"ciphers": []}}}, None),
    ({"server": "off"}, {**DEFAULTS, "server": "off"}),
    ({}, DEFAULTS),
]:
    file.write_text(json.dumps(over))
    found = config.load(str(file))
    if wanted is not None and found != wanted:
        sys.exit(f"{over} gives {found}")
    if config.DEFAULTS != DEFAULTS:
        sys.exit("the defaults were changed")
    found.setdefault("paths", []).append("/mine")
    if isinstance(found.get("server"), dict):
        found["server"]["host"] = "changed"
    if config.DEFAULTS != DEFAULTS:
        sys.exit("a caller can change the defaults")
file.unlink()
