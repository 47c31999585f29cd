import csv
import json
import sys
from pathlib import Path
from statistics import median

values = {}
with open(Path(__file__).parent / "workspace" / "readings.csv") as file:
    for row in csv.DictReader(file):
        if row["value"] not in ("", "NaN", "-999"):
            values.setdefault(row["sensor"], []).append(float(row["value"]))
if not Path("summary.json").is_file():
    sys.exit("there is no summary.json")
found = json.loads(Path("summary.json").read_text())
if set(found) != set(values):
    sys.exit(f"the sensors are {sorted(found)}")
for sensor, seen in values.items():
    middle = median(seen)
    wanted = (len(seen), sum(abs(v - middle) > 5 for v in seen))
    if (found[sensor]["count"], found[sensor]["outliers"]) != wanted:
        sys.exit(f"{sensor}: {found[sensor]}, not {wanted}")
    if abs(found[sensor]["median"] - middle) > 0.0051:
        sys.exit(f"{sensor}: the median is {middle}")
