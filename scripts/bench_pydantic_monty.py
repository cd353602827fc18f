"""The measurements of `src/interpreter_worker/examples/code_mode.rs` with pydantic-monty as the host."""

import asyncio
import json
import os
import statistics
import sys
import time

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


def pool_of(processes):
    # What adds up figures needs no interpreter.
    from pydantic_monty import AsyncMonty

    return AsyncMonty(max_processes=processes)


def status(process, field):
    try:
        with open(f"/proc/{process}/status") as lines:
            return next((int(line.split()[1]) for line in lines if line.startswith(field)), 0)
    except (FileNotFoundError, ProcessLookupError):
        return 0


def rss_kib():
    return status("self", "VmRSS:")


def workers_rss_kib():
    """The largest child of this process: its one worker."""
    processes = (name for name in os.listdir("/proc") if name.isdigit())
    children = [process for process in processes if status(process, "PPid:") == os.getpid()]
    return max((status(child, "VmRSS:") for child in children), default=None)


async def one_after_another():
    async with pool_of(1) as pool:
        await run(pool)
        times = []
        started = time.perf_counter()
        for _ in range(PROGRAMS):
            start = time.perf_counter()
            await run(pool)
            times.append(time.perf_counter() - start)
        took = time.perf_counter() - started
        worker_rss_kib = workers_rss_kib()
    times.sort()
    return {
        "per_second": round(PROGRAMS / took),
        "p50_ms": times[PROGRAMS // 2] * 1e3,
        "p99_ms": times[PROGRAMS * 99 // 100] * 1e3,
        "worker_rss_kib": worker_rss_kib,
    }


async def at_once():
    async with pool_of(2) as pool:
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
        async with pool_of(1) as pool:
            await run(pool)
            times.append((time.perf_counter() - start) * 1e3)
    return {"p50_ms": statistics.median(times), "most_ms": max(times)}


async def measure():
    return {
        "first_call": await first_call(),
        "one_worker": await one_after_another(),
        "at_once": await at_once(),
    }


def read(path):
    """The figures of all rounds by their names, for both sides."""
    found = {}
    with open(path) as lines:
        for line in map(json.loads, lines):
            for group, figures in line["figures"].items():
                for figure, value in figures.items():
                    if value is not None:
                        found.setdefault(f"{group}.{figure}", {}).setdefault(line["side"], []).append(value)
    return found


def at_least(ours, theirs, times, least=0):
    return theirs is not None and ours >= max(least, times * theirs)


ROWS = [
    (
        "one-tool programs a second, one worker",
        ">= 4,000 and >= 1.5 x pydantic-monty",
        "one_worker.per_second",
        lambda ours, theirs: at_least(ours, theirs, 1.5, 4_000),
    ),
    (
        "1,000 at once, a second",
        ">= 2 x pydantic-monty",
        "at_once.per_second",
        lambda ours, theirs: at_least(ours, theirs, 2),
    ),
    ("worker RSS, KiB", "<= 10 MB", "one_worker.worker_rss_kib", lambda ours, _: ours * 1024 <= 10_000_000),
    ("host's growth at 1,000 at once, KiB", "flat", "at_once.host_growth_kib", None),
    ("first call with a new worker, ms", "<= 20 ms", "first_call.p50_ms", lambda ours, _: ours <= 20),
]


def rows(path):
    """The rows of docs/benchmarks.md that are measured here."""
    found = read(path)
    print("| what | to reach | ours | pydantic-monty | reached |")
    print("|---|---|---|---|---|")
    for what, to_reach, figure, is_reached in ROWS:
        sides = found.get(figure, {})
        ours, theirs = (statistics.median(sides[side]) if side in sides else None for side in ("ours", "theirs"))
        reached = "-" if is_reached is None or ours is None else "yes" if is_reached(ours, theirs) else "**missed**"
        shown = ("-" if value is None else f"{value:,.2f}".removesuffix(".00") for value in (ours, theirs))
        print(f"| {what} | {to_reach} | {' | '.join(shown)} | {reached} |")


def medians(path):
    """The median of each figure over all rounds, for both sides."""
    found = read(path)
    print(f"{'median':32}{'ours':>12}{'theirs':>12}")
    for figure, sides in found.items():
        cells = [statistics.median(sides[side]) if side in sides else None for side in ("ours", "theirs")]
        print(f"{figure:32}" + "".join(f"{'-' if cell is None else format(cell, '.2f'):>12}" for cell in cells))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--medians"]:
        medians(sys.argv[2])
    elif sys.argv[1:2] == ["--rows"]:
        rows(sys.argv[2])
    else:
        print(json.dumps(asyncio.run(measure())))
