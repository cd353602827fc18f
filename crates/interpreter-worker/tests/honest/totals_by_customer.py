# value: {"c1": 300.5, "c2": 125.0}
totals: dict[str, float] = {}
for row in await orders():
    totals[row["customer"]] = totals.get(row["customer"], 0.0) + row["total"]
totals
