# value: null
rows = await orders()
print("Orders:", len(rows))
for i, row in enumerate(rows, start=1):
    print(f"{i}. {row['id']:<5} {row['total']:,.2f}")
