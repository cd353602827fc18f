# line: 2
await orders(client="c1")
