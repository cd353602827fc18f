# value: 1
orders = []
orders.append({"id": "o1"})
len(orders)
