# value: 3
import asyncio


async def main() -> int:
    rows = await orders()
    return len(rows)


asyncio.run(main())
