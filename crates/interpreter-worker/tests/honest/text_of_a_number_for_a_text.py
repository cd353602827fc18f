# value: 1.1
base = "EUR" if (await stock())["a"] > 5 else 3
await exchange_rate(base)
