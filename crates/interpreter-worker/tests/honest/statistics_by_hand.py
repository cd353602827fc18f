# value: {"mean": 141.83, "median": 125.0, "most": "o2"}
rows = await orders()
totals = sorted(r["total"] for r in rows)
n = len(totals)
mean = sum(totals) / n
median = totals[n // 2] if n % 2 else (totals[n // 2 - 1] + totals[n // 2]) / 2
most = max(rows, key=lambda r: r["total"])["id"]
{"mean": round(mean, 2), "median": median, "most": most}
