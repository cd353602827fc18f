# line: 4
total = 0.0
for row in await orders():
    total += row["amount"]
total
