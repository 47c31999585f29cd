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
    sys.exit("summary.json does not exist")
data = json.loads(Path("summary.json").read_text())
if set(data) != set(values):
    sys.exit(f"the sensors are {sorted(data)}")
for sensor, readings in values.items():
    middle = median(readings)
    expected = (len(readings), sum(abs(v - middle) > 5 for v in readings))
    if (data[sensor]["count"], data[sensor]["outliers"]) != expected:
        sys.exit(f"{sensor}: {data[sensor]}, not {expected}")
    if abs(data[sensor]["median"] - middle) > 0.0051:
        sys.exit(f"{sensor}: the median is {middle}")
