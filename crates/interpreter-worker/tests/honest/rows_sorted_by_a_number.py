# value: "o2, o3, o1"
rows = []
for order in await orders():
    rows.append({"id": order["id"], "value": order["total"]})
rows = sorted(rows, key=lambda r: -r["value"])
", ".join(r["id"] for r in rows)
