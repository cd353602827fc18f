# line: 3
x = 1
await order()
