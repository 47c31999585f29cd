import sys
from pathlib import Path

expected = "town,visits,failed Oslo,124,10 Bergen,85,1 Trondheim,58,7 Stavanger,100,16 Bodø,22,4 Tromsø,67,13"
if not Path("visits.csv").is_file():
    sys.exit("visits.csv does not exist")
if (lines := Path("visits.csv").read_text("utf-8").splitlines()) != expected.split():
    sys.exit(f"visits.csv contains {lines}")
