import sys
from pathlib import Path

original = Path(__file__).parent / "workspace"
files = {str(p.relative_to(original)): p.read_bytes() for p in original.rglob("*") if p.is_file()}
if any(not Path(p).is_file() or Path(p).read_bytes() != data for p, data in files.items()):
    sys.exit("an original file was changed")
expected = ["corrupt data/b c.csv", "extra data/deep/new.csv", "corrupt data/e.csv", "missing data/gone.csv"]
if not Path("report.txt").is_file():
    sys.exit("report.txt does not exist")
if (lines := Path("report.txt").read_text().splitlines()) != expected:
    sys.exit(f"{lines}")
