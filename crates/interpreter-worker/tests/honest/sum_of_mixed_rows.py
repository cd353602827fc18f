# value: 3.5
orders = [{"id": "o1", "cents": 100}, {"id": "o2", "cents": 250}]
sum(o["cents"] for o in orders) / 100
