# line: 3
rows = await orders()
for row in rows
    print(row)
