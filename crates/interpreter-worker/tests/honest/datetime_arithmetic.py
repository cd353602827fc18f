# value: 45
from datetime import datetime

rows = sorted(await orders(), key=lambda r: r["placed"])
first = datetime.strptime(rows[0]["placed"], "%Y-%m-%d")
last = datetime.strptime(rows[-1]["placed"], "%Y-%m-%d")
(last - first).days
