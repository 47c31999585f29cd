import json
import os
import sys
from pathlib import Path

record = Path(os.environ["POSTED"])
orders = [json.loads(line) for line in record.read_text().splitlines()] if record.is_file() else []
if len(orders) != 1:
    sys.exit(f"{len(orders)} orders were sent")
form = {name: values for name, values in orders[0]["form"].items()}
expected = {
    "name": ["Ines Öztürk"],
    "article": ["K-2"],
    "quantity": ["3"],
    "delivery": ["pickup"],
    "gift": ["yes"],
    "remarks": ["Please ring twice."],
    "token": ["t-481-Q"],
}
if orders[0]["path"] != "/order" or form != expected:
    sys.exit(f"the order was {form}")
