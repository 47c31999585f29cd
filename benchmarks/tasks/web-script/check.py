import sys
from pathlib import Path

wanted = "town,visits,failed Oslo,124,10 Bergen,85,1 Trondheim,58,7 Stavanger,100,16 Bodø,22,4 Tromsø,67,13"
if not Path("visits.csv").is_file():
    sys.exit("there is no visits.csv")
if (found := Path("visits.csv").read_text("utf-8").splitlines()) != wanted.split():
    sys.exit(f"visits.csv says {found}")
