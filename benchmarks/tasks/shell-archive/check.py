import sys
import tarfile
from pathlib import Path

original = Path(__file__).parent / "workspace" / "logs"
old = {}
for file in sorted(original.glob("app-????-??-??.log")):
    if file.name < "app-2026":
        old.setdefault(file.name[4:11], []).append(file.name)
remaining = {p.name: p.read_text() for p in Path("logs").iterdir()}
archived = {name for names in old.values() for name in names}
if remaining != {p.name: p.read_text() for p in original.iterdir() if p.name not in archived}:
    sys.exit(f"logs/ contains {sorted(remaining)}")
archives = sorted(p.name for p in Path("archive").glob("*")) if Path("archive").is_dir() else []
if archives != [f"{month}.tar.gz" for month in sorted(old)]:
    sys.exit(f"archive/ contains {archives}")
for month, names in old.items():
    with tarfile.open(f"archive/{month}.tar.gz", "r:gz") as archive:
        if archive.getnames() != names:
            sys.exit(f"{month} contains {archive.getnames()}")
        for name in names:
            if archive.extractfile(name).read().decode() != (original / name).read_text():
                sys.exit(f"{name} is incomplete")
