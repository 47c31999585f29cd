import csv
import sys
from pathlib import Path

expected = [
    ["customer", "name", "orders", "total"],
    ["3", "Núñez, Ana", "2", "30.50"],
    ["7", "Bond", "3", "21.00"],
    ["12", "Kim", "0", "0.00"],
    ["40", "O\"Hara", "1", "0.10"],
]
for name in ("customers_out.csv", "orphans.csv"):
    if not Path(name).is_file():
        sys.exit(f"{name} does not exist")
with open("customers_out.csv", newline="", encoding="utf-8") as file:
    if (result := list(csv.reader(file))) != expected:
        sys.exit(f"customers_out.csv contains {result}")
lines = Path("orphans.csv").read_text().splitlines()
if lines != ["order,customer,amount", "5,99,4.00", "8, 100.0,5.00"]:
    sys.exit(f"orphans.csv contains {lines}")
