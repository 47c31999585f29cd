import csv
import json
import sys
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

sums = defaultdict(Fraction)
lines = (Path(__file__).parent / "workspace" / "orders.csv").read_text().splitlines()
for row in csv.DictReader(dict.fromkeys(lines)):
    if row["status"].lower() == "paid" and row["amount"] and row["date"]:
        rate = Fraction(9, 10) if row["currency"] == "USD" else 1
        sums[row["date"][:7]] += Fraction(row["amount"]) * rate
if not Path("revenue.json").is_file():
    sys.exit("revenue.json does not exist")
data = json.loads(Path("revenue.json").read_text())
if list(data) != sorted(sums):
    sys.exit(f"the months are {list(data)}")
for month, value in sums.items():
    if abs(data[month] - value) > Fraction(51, 10000):
        sys.exit(f"{month} is {data[month]}, not {float(value):.2f}")
