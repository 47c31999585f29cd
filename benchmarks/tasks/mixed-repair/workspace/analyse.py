"""Visits by the hour."""

import sys

counts = {}
for line in open(sys.argv[1]):
    time = line.split("[")[1]
    hour = int(time.split(":")[1])
    counts[hour] = counts[hour] + 1
for hour in sorted(counts):
    print(f"{hour:02} {counts[hour]}")
print("busiest", max(counts))
