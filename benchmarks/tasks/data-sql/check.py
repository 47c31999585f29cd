import sqlite3
import sys
from pathlib import Path

if not Path("answer.csv").is_file():
    sys.exit("answer.csv does not exist")
expected = ["name,spent", "Dora,130.00", "Ada,100.00", "Bea,100.00"]
if (lines := Path("answer.csv").read_text().splitlines()) != expected:
    sys.exit(f"answer.csv contains {lines}")
db = sqlite3.connect("file:shop.db?mode=ro", uri=True)
if db.execute("SELECT COUNT(*) FROM orders").fetchone() != (17,):
    sys.exit("shop.db does not contain the orders")
