import sys
from pathlib import Path

given = Path(__file__).parent / "workspace"
files = {str(p.relative_to(given)): p.read_bytes() for p in given.rglob("*") if p.is_file()}
if any(not Path(p).is_file() or Path(p).read_bytes() != data for p, data in files.items()):
    sys.exit("a given file was changed")
wanted = ["corrupt data/b c.csv", "extra data/deep/new.csv", "corrupt data/e.csv", "missing data/gone.csv"]
if not Path("report.txt").is_file():
    sys.exit("there is no report.txt")
if (said := Path("report.txt").read_text().splitlines()) != wanted:
    sys.exit(f"{said}")
