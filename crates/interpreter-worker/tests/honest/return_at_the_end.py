# value: 3
rows = await orders()
if not rows:
    return "no orders"
return len(rows)
