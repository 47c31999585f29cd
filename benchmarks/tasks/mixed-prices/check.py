import sys
from pathlib import Path

expected = ["article,ours,theirs", "A-20,12.00,12.50", "A-30,8.00,9.52", "A-40,5.00,gone"]
if not Path("differences.csv").is_file():
    sys.exit("differences.csv does not exist")
if (lines := Path("differences.csv").read_text().splitlines()) != expected:
    sys.exit(f"differences.csv contains {lines}")
original = Path(__file__).parent / "workspace" / "prices.csv"
if Path("prices.csv").read_text() != original.read_text():
    sys.exit("prices.csv was changed")
