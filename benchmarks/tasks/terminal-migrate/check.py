import sqlite3
import sys
from pathlib import Path

if not Path("shop2.db").is_file():
    sys.exit("shop2.db does not exist")
old = sqlite3.connect("shop.db")
fresh = sqlite3.connect(":memory:")
fresh.executescript((Path(__file__).parent / "workspace" / "shop.sql").read_text())
if list(old.iterdump()) != list(fresh.iterdump()):
    sys.exit("shop.db was changed")
new = sqlite3.connect("shop2.db")
EXPECTED = {
    "customers": [
        (1, "Ana Ruiz", "ana@example.org", "2024-01-05"),
        (2, "Bo Ek", "bo@example.org", "2023-12-01"),
        (4, "Chi Nguyễn", "chi@example.org", "2024-03-09"),
        (7, "Dee", None, "2024-06-01"),
        (8, "Eli", None, "2024-07-01"),
    ],
    "orders": [
        (10, 1, 1250, "2024-02-01", "paid"),
        (11, 1, 700, "2024-05-02", "paid"),
        (12, 2, 109900, "2024-01-01", "paid"),
        (13, 2, 99, "2024-02-12", "cancelled"),
        (15, 4, None, "2024-03-10", "open"),
        (16, 7, 310, "2024-06-02", "open"),
        (17, 8, 2005, "2024-07-02", "paid"),
    ],
    "rejected": [(14, "no customer")],
}
for table, rows in EXPECTED.items():
    try:
        result = new.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
    except sqlite3.Error as error:
        sys.exit(f"{table}: {error}")
    if result != rows:
        sys.exit(f"{table} contains {result}")
if new.execute("SELECT typeof(cents) FROM orders WHERE id = 10").fetchone() != ("integer",):
    sys.exit("cents are not integers")
new.execute("PRAGMA foreign_keys = ON")
for statement in (
    "INSERT INTO orders VALUES (90, 99, 1, '2024-01-01', 'open')",
    "INSERT INTO orders VALUES (91, 1, 1, '2024-01-01', 'lost')",
    "INSERT INTO orders VALUES (10, 1, 1, '2024-01-01', 'open')",
    "INSERT INTO customers VALUES (90, 'X', 'ana@example.org', '2024-01-01')",
    "INSERT INTO customers VALUES (91, NULL, NULL, '2024-01-01')",
):
    try:
        new.execute(statement)
    except sqlite3.IntegrityError:
        continue
    sys.exit(f"the new database allows: {statement}")
