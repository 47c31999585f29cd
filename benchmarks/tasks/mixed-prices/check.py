import sys
from pathlib import Path

wanted = ["article,ours,theirs", "A-20,12.00,12.50", "A-30,8.00,9.52", "A-40,5.00,gone"]
if not Path("differences.csv").is_file():
    sys.exit("there is no differences.csv")
if (found := Path("differences.csv").read_text().splitlines()) != wanted:
    sys.exit(f"differences.csv says {found}")
given = Path(__file__).parent / "workspace" / "prices.csv"
if Path("prices.csv").read_text() != given.read_text():
    sys.exit("prices.csv was changed")
