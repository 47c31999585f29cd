import sys
from pathlib import Path

expected = (Path(__file__).parent / "site" / "files" / "q3-corrected.csv").read_bytes()
if not (Path("report.csv").is_file() and Path("total.txt").is_file()):
    sys.exit("a file is missing")
if Path("report.csv").read_bytes() != expected:
    sys.exit("it is another report, or not identical")
if (text := Path("total.txt").read_text().strip()) != "352":
    sys.exit(f"the sum is {text}")
