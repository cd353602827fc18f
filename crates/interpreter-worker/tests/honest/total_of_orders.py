# value: 425.5
total = 0.0
for order_row in await orders():
    total += order_row["total"]
total
