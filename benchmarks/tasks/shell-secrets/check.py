import sys
from pathlib import Path

original = Path(__file__).parent / "workspace"
for file in (p for p in original.rglob("*") if p.is_file()):
    if Path(file.relative_to(original)).read_bytes() != file.read_bytes():
        sys.exit(f"{file.name} was changed")
expected = [
    "project/.env:2",
    "project/deploy/key.pem:1",
    "project/deploy/old.txt:3",
    "project/deploy/old.txt:10",
    "project/src/app.py:4",
]
if not Path("found.txt").is_file():
    sys.exit("found.txt does not exist")
if (lines := Path("found.txt").read_text().splitlines()) != expected:
    sys.exit(f"found.txt contains {lines}")
