import csv
import sys
from pathlib import Path

expected = [
    "sku,name,colour,size,price,stock,tags".split(","),
    ["A1", "Lamp", "red", "S", "10", "3", "home|light"],
    ["A1", "Lamp", "blue", "", "12.5", "0", "home|light"],
    ["A1", "Lamp", "", "L", "0", "0", "home|light"],
    ["B2", 'Cup "é", large', "", "", "4", "7", ""],
    ["", "Nameless", "", "", "", "0", "z|a"],
    ["D4", "", "green", "M", "8", "1", "x"],
]
if not Path("products.csv").is_file():
    sys.exit("products.csv does not exist")
with open("products.csv", newline="", encoding="utf-8") as file:
    result = list(csv.reader(file))
if result != expected:
    sys.exit(f"products.csv contains {result}")
