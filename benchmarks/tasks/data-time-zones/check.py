import sys
from pathlib import Path

expected = [
    "day,kind,count",
    "2026-03-28,open,2",
    "2026-03-29,close,1",
    "2026-03-29,open,2",
    "2026-03-30,open,1",
    "2026-07-01,close,2",
    "2026-07-02,close,1",
]
if not Path("days.csv").is_file():
    sys.exit("days.csv does not exist")
if (lines := Path("days.csv").read_text().splitlines()) != expected:
    sys.exit(f"days.csv contains {lines}")
