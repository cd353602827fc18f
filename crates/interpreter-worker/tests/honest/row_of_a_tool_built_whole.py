# value: "a"
item: Item = {"sku": "a", "quantity": 2, "price": 1.5}
item["sku"]
