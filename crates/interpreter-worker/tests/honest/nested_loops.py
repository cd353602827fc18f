# value: {"a": 3, "b": 5}
quantities = {}
for row in await orders():
    for item in row["items"]:
        sku = item["sku"]
        quantities[sku] = quantities.get(sku, 0) + item["quantity"]
quantities
