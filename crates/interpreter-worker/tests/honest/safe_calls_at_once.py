# value: {"EUR": 1.1, "QQQ": null}
import asyncio


async def rate_or_none(code: str) -> float | None:
    try:
        return await exchange_rate(code)
    except ValueError as e:
        print(f"{code}: {e}")
        return None


codes = ["EUR", "QQQ"]
rates = await asyncio.gather(*[rate_or_none(code) for code in codes])
dict(zip(codes, rates))
