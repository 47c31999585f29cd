import sys
from pathlib import Path

given = Path(__file__).parent / "workspace"
files = [p.relative_to(given) for p in (given / "photos").rglob("*") if p.is_file()]
seen, kept, gone = set(), [], []
for path in sorted(files, key=lambda p: str(p).encode()):
    data = (given / path).read_bytes()
    (gone if data and data in seen else kept).append(str(path))
    seen.add(data)
left = sorted(str(p) for p in Path("photos").rglob("*") if p.is_file())
if left != sorted(kept):
    sys.exit(f"left are {left}")
if any(Path(p).read_bytes() != (given / p).read_bytes() for p in kept):
    sys.exit("a file was changed")
if not Path("deleted.txt").is_file() or Path("deleted.txt").read_text().splitlines() != gone:
    sys.exit(f"deleted.txt is not {gone}")
