import sys
from pathlib import Path

original = Path(__file__).parent / "workspace"
files = [p.relative_to(original) for p in (original / "photos").rglob("*") if p.is_file()]
contents, unique, duplicates = set(), [], []
for path in sorted(files, key=lambda p: str(p).encode()):
    data = (original / path).read_bytes()
    (duplicates if data and data in contents else unique).append(str(path))
    contents.add(data)
remaining = sorted(str(p) for p in Path("photos").rglob("*") if p.is_file())
if remaining != sorted(unique):
    sys.exit(f"the remaining files are {remaining}")
if any(Path(p).read_bytes() != (original / p).read_bytes() for p in unique):
    sys.exit("a file was changed")
if not Path("deleted.txt").is_file() or Path("deleted.txt").read_text().splitlines() != duplicates:
    sys.exit(f"deleted.txt is not {duplicates}")
