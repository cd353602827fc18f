# line: 3
ids = [1, 2]
await order(ids)
