import json
import sys
from pathlib import Path

if not Path("answer.json").is_file():
    sys.exit("answer.json does not exist")
expected = {
    "queue.limit": {"default": 5000, "since": "4.4"},
    "queue.retry": {"default": 12, "since": "4.3"},
}
if (data := json.loads(Path("answer.json").read_text())) != expected:
    sys.exit(f"the answer is {data}")
