import sqlite3
import sys

sys.path.insert(0, ".")
import notes

db = sqlite3.connect(":memory:")
notes.create(db)
for title in ["50% off", "500 days", "a_b", "aXb", "It's", "back\\slash", "Rain"]:
    notes.add(db, title, "text")


def titles():
    return [row[0] for row in db.execute("SELECT title FROM notes ORDER BY id")]


before = titles()
for text, expected in [
    ("50%", ["50% off"]),
    ("_", ["a_b"]),
    ("\\", ["back\\slash"]),
    ("it's", ["It's"]),
    ("RAIN", ["Rain"]),
    ("x' OR '1'='1", []),
    ("%' UNION SELECT body FROM notes --", []),
    ("", sorted(before)),
]:
    if (rows := notes.search(db, text)) != expected:
        sys.exit(f"search({text!r}) is {rows}, not {expected}")
notes.rename(db, 1, "title", "O'Neill', body='x")
if titles() != ["O'Neill', body='x", *before[1:]]:
    sys.exit("rename wrote a wrong value")
before = titles()
for column in ("id", "title = 'x', body", "rowid", "nothing"):
    try:
        notes.rename(db, 2, column, "7")
        sys.exit(f"rename accepted the column {column!r}")
    except ValueError:
        pass
notes.rename(db, "2 OR 1=1", "title", "x")
if titles() != before:
    sys.exit("rename changed other data")
