# value: ["Ada", "Bo"]
import asyncio

names = sorted({row["customer"] for row in await orders()})
customers = await asyncio.gather(*[customer(name) for name in names])
[c["name"] for c in customers]
