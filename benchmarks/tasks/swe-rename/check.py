import re
import subprocess
import sys
import warnings
from pathlib import Path

process = subprocess.run([sys.executable, "-W", "error", "-m", "shop"], capture_output=True, text=True)
if (process.returncode, process.stdout) != (0, "cart 36.0\nreport 36.0 40.0\n"):
    sys.exit(f"the program prints {process.stdout}{process.stderr}")
if "calc_total" in Path("docs/api.md").read_text() or "order_total" not in Path("docs/api.md").read_text():
    sys.exit("docs/api.md")
for file in Path("shop").rglob("*.py"):
    text = file.read_text()
    if file.name == "totals.py":
        text = re.sub(r"def calc_total\(", "", text, count=1)
        text = re.sub(r"#.*|(\"\"\"|\"|')[^\n]*?\1", "", text)  # words about it may name it
    if "calc_total" in text:
        sys.exit(f"{file} still uses the old name")
sys.path.insert(0, ".")
from shop.totals import calc_total, order_total

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    old = calc_total([(2, 5.0)], discount=0.5)
    new = order_total([(2, 5.0)], discount=0.5)
if old != new or [w.category for w in caught] != [DeprecationWarning]:
    sys.exit("the old name gives no DeprecationWarning, or a different result")
