import json
import subprocess
import sys
from pathlib import Path

original = Path(__file__).parent / "workspace" / "wc.py"


def run(*words, program="wc.py"):
    process = subprocess.run([sys.executable, program, *words], capture_output=True, text=True)
    return process.returncode, process.stdout, bool(process.stderr)


Path("one é.txt").write_text("a b\nc\n", encoding="utf-8")
Path("two.txt").write_text("\n\nlast")
for words in (["two.txt"], ["two.txt", "one é.txt"], ["no", "two.txt"]):
    if run(*words) != run(*words, program=str(original)):
        sys.exit(f"the output without the option has changed for {words}")
first = {"lines": 2, "words": 3, "bytes": 6}
second = {"lines": 2, "words": 1, "bytes": 6}
total = {"lines": 4, "words": 4, "bytes": 12}
for words, code, expected in [
    (["two.txt"], 0, {"two.txt": second}),
    (["two.txt", "one é.txt"], 0, {"two.txt": second, "one é.txt": first, "total": total}),
    (["no", "two.txt"], 1, {"two.txt": second, "total": second}),
]:
    result = run("--json", *words)
    if (result[0], result[2]) != (code, code == 1):
        sys.exit(f"exit code or error of {words}: {result}")
    if list(json.loads(result[1]).items()) != list(expected.items()):
        sys.exit(f"{words}: {result[1]}")
if not any("--json" in line for line in Path("README.md").read_text().splitlines()):
    sys.exit("the README does not mention it")
