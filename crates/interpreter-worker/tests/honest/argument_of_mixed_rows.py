# value: 100.5
wanted = [{"id": "o1", "cents": 100}]
total = 0.0
for row in wanted:
    total += (await order(row["id"]))["total"]
total
