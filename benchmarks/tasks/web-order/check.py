import json
import os
import sys
from pathlib import Path

record = Path(os.environ["POSTED"])
sent = [json.loads(line) for line in record.read_text().splitlines()] if record.is_file() else []
if len(sent) != 1:
    sys.exit(f"{len(sent)} orders were sent")
form = {name: values for name, values in sent[0]["form"].items()}
wanted = {
    "name": ["Ines Öztürk"],
    "article": ["K-2"],
    "quantity": ["3"],
    "delivery": ["pickup"],
    "gift": ["yes"],
    "remarks": ["Please ring twice."],
    "token": ["t-481-Q"],
}
if sent[0]["path"] != "/order" or form != wanted:
    sys.exit(f"the order was {form}")
