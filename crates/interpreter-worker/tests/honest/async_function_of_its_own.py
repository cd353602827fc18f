# value: [110.0, 165.0]
import asyncio


async def in_euro(amount: float, code: str) -> float:
    rate = await exchange_rate(code)
    return round(amount * rate, 2)


await asyncio.gather(in_euro(100, "EUR"), in_euro(150, "EUR"))
