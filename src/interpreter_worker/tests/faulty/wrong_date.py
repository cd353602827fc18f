# line: 2
await exchange_rate("EUR", on="2026-01-01")
