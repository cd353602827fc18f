# value: ["o1", "o2", "o3"]
ids = []
cursor = None
while True:
    page = await order_page(cursor)
    ids.extend(row["id"] for row in page["rows"])
    cursor = page["next"]
    if cursor is None:
        break
ids
