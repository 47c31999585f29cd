import hashlib
import sys
from pathlib import Path

if not Path("message.txt").is_file():
    sys.exit("message.txt does not exist")
digest = hashlib.sha256(Path("message.txt").read_bytes()).hexdigest()
if digest != "4b33db2bc52b93d9d2a18838c4da371c66440cde6c6abfe6ba1cf5a4fa8bc5ac":
    sys.exit("message.txt is not the text")
names = sorted(path.name for path in Path().iterdir() if not path.name.startswith("."))
if names != ["delivery.bin", "hint.txt", "message.txt"]:
    sys.exit(f"the folder contains {names}")
