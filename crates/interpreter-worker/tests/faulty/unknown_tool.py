# line: 2
await fetch_orders()
