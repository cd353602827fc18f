# line: 3
total = 0.0
for row in orders():
    total += row["total"]
total
