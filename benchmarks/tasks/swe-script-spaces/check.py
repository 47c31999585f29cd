import subprocess
import sys
import tempfile
from pathlib import Path


def run(*words):
    process = subprocess.run(["bash", "backup.sh", *words], capture_output=True, text=True)
    return process.returncode, process.stdout.strip(), process.stderr.strip()


with tempfile.TemporaryDirectory() as name:
    source, target = Path(name, "the source"), Path(name, "the target", "deep")
    (source / "sub dir").mkdir(parents=True)
    names = ["a b.txt", "-n.txt", "*.txt", "  two  spaces.txt", "back\\slash.txt"]
    for filename in names:
        (source / filename).write_text(filename)
    (source / "sub dir" / "in.txt").write_text("in")
    (source / "no.md").write_text("no")
    if (result := run(str(source), str(target))) != (0, "6", ""):
        sys.exit(f"without clashes: {result}")
    if sorted(p.name for p in target.iterdir()) != sorted([*names, "in.txt"]):
        sys.exit("not the same files")
    if any((target / filename).read_text() != filename for filename in names):
        sys.exit("different content")
    other = Path(name, "other")
    (source / "sub dir" / "a b.txt").write_text("the other")
    code, out, stderr = run(str(source), str(other))
    if (code, out, stderr) != (1, "6", "clash: a b.txt"):
        sys.exit(f"with a clash: {code} {out} {stderr}")
    if len(list(other.iterdir())) != 6:
        sys.exit("after a clash some other files were not copied")
