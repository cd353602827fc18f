# value: "1.1 for 3"
import asyncio

rate, rows = await asyncio.gather(exchange_rate("EUR"), orders())
f"{rate} for {len(rows)}"
