# value: 3
page = await order_page()
rows = list(page["rows"])
cursor = page.get("next")
while cursor:
    page = await order_page(cursor)
    rows += page["rows"]
    cursor = page.get("next")
len(rows)
