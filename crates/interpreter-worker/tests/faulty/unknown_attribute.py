# line: 3
import asyncio
await asyncio.sleep(1)
