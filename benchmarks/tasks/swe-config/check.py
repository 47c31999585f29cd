import json
import sys
from pathlib import Path

original = Path(__file__).parent / "workspace"
if Path("site.json").read_text() != (original / "site.json").read_text():
    sys.exit("site.json was changed")
sys.path.insert(0, ".")
import config

DEFAULTS = {
    "debug": False,
    "server": {"host": "localhost", "port": 80, "tls": {"on": False, "ciphers": ["a", "b"]}},
    "paths": ["/srv"],
}
file = Path("checked.json")
for over, expected in [
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
    result = config.load(str(file))
    if expected is not None and result != expected:
        sys.exit(f"{over} gives {result}")
    if config.DEFAULTS != DEFAULTS:
        sys.exit("the defaults were changed")
    result.setdefault("paths", []).append("/mine")
    if isinstance(result.get("server"), dict):
        result["server"]["host"] = "changed"
    if config.DEFAULTS != DEFAULTS:
        sys.exit("a caller can change the defaults")
file.unlink()
