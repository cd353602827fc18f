# value: ["o2", "o3", "o1"]
rows = await orders(limit=50)
rows.sort(key=lambda row: row["total"], reverse=True)
[row["id"] for row in rows]
