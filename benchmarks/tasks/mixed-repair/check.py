import subprocess
import sys
from pathlib import Path

original = (Path(__file__).parent / "workspace" / "visits.log").read_bytes()
if Path("visits.log").read_bytes() != original:
    sys.exit("visits.log was changed")


def run(log, counts, skipped):
    Path("checked.log").write_bytes(log)
    process = subprocess.run(
        [sys.executable, "analyse.py", "checked.log"], capture_output=True, text=True
    )
    Path("checked.log").unlink()
    best = max(range(24), key=lambda hour: counts.get(hour, 0))
    lines = [f"{hour:02} {counts.get(hour, 0)}" for hour in range(24)] + [f"busiest {best:02}"]
    if process.stdout.splitlines() != lines:
        sys.exit(f"it prints {process.stdout.split()}, {process.stderr[-200:]}")
    if process.stderr.split() != ["skipped", str(skipped)]:
        sys.exit(f"it prints to standard error {process.stderr}")
    return lines


lines = run(original, {0: 2, 7: 2, 22: 1, 23: 3}, 4)
run(b'1 [01/Jan/2026:05:30:00 +0530] "x"\n', {0: 1}, 0)
run(b"", {}, 0)
if not Path("result.txt").is_file() or Path("result.txt").read_text().splitlines() != lines:
    sys.exit("result.txt is not what the program prints")
