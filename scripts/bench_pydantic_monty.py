"""The measurements of `src/interpreter_worker/examples/code_mode.rs` with pydantic-monty as the host."""

import asyncio
import json
import statistics
import sys
import time

from pydantic_monty import AsyncMonty

CODE = "r = await double(21)\nr + 1"
PROGRAMS = 5_000
AT_ONCE = 1_000
FIRST_CALLS = 15
LIMITS = {"max_feed_duration_secs": 30.0, "max_memory": 50 * 1024 * 1024, "max_recursion_depth": 256}


async def double(x):
    return x * 2


async def run(pool):
    async with pool.checkout(limits=LIMITS) as session:
        assert await session.feed_run(CODE, external_lookup={"double": double}) == 43


def rss_kib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


async def one_after_another():
    async with AsyncMonty(max_processes=1) as pool:
        await run(pool)
        times = []
        started = time.perf_counter()
        for _ in range(PROGRAMS):
            start = time.perf_counter()
            await run(pool)
            times.append(time.perf_counter() - start)
        took = time.perf_counter() - started
    times.sort()
    return {
        "per_second": round(PROGRAMS / took),
        "p50_ms": times[PROGRAMS // 2] * 1e3,
        "p99_ms": times[PROGRAMS * 99 // 100] * 1e3,
    }


async def at_once():
    async with AsyncMonty(max_processes=2) as pool:
        await run(pool)
        before = rss_kib()
        started = time.perf_counter()
        await asyncio.gather(*(run(pool) for _ in range(AT_ONCE)))
        took = time.perf_counter() - started
    return {"per_second": round(AT_ONCE / took), "host_growth_kib": rss_kib() - before}


async def first_call():
    times = []
    for _ in range(FIRST_CALLS):
        start = time.perf_counter()
        async with AsyncMonty(max_processes=1) as pool:
            await run(pool)
            times.append((time.perf_counter() - start) * 1e3)
    return {"p50_ms": statistics.median(times), "most_ms": max(times)}


async def measure():
    return {
        "first_call": await first_call(),
        "one_worker": await one_after_another(),
        "at_once": await at_once(),
    }


def medians(path):
    """The median of each figure over all rounds, for both sides."""
    found = {}
    with open(path) as lines:
        for line in map(json.loads, lines):
            for group, figures in line["figures"].items():
                for figure, value in figures.items():
                    found.setdefault(f"{group}.{figure}", {}).setdefault(line["side"], []).append(value)
    print(f"{'median':32}{'ours':>12}{'theirs':>12}")
    for figure, sides in found.items():
        cells = [statistics.median(sides[side]) if side in sides else None for side in ("ours", "theirs")]
        print(f"{figure:32}" + "".join(f"{'-' if cell is None else format(cell, '.2f'):>12}" for cell in cells))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--medians"]:
        medians(sys.argv[2])
    else:
        print(json.dumps(asyncio.run(measure())))
