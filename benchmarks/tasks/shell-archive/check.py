import sys
import tarfile
from pathlib import Path

given = Path(__file__).parent / "workspace" / "logs"
old = {}
for file in sorted(given.glob("app-????-??-??.log")):
    if file.name < "app-2026":
        old.setdefault(file.name[4:11], []).append(file.name)
left = {p.name: p.read_text() for p in Path("logs").iterdir()}
gone = {name for names in old.values() for name in names}
if left != {p.name: p.read_text() for p in given.iterdir() if p.name not in gone}:
    sys.exit(f"in logs there are {sorted(left)}")
made = sorted(p.name for p in Path("archive").glob("*")) if Path("archive").is_dir() else []
if made != [f"{month}.tar.gz" for month in sorted(old)]:
    sys.exit(f"in archive there are {made}")
for month, names in old.items():
    with tarfile.open(f"archive/{month}.tar.gz", "r:gz") as archive:
        if archive.getnames() != names:
            sys.exit(f"{month} holds {archive.getnames()}")
        for name in names:
            if archive.extractfile(name).read().decode() != (given / name).read_text():
                sys.exit(f"{name} is not whole")
