# line: 2
await exchange_rate("EUR", on=20260101)
