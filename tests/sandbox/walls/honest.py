"""What honest programs ask of the machine."""

import asyncio
import concurrent.futures
import fcntl
import multiprocessing
import os
import pty
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading


def double(number: int) -> int:
    """Twice the number."""
    return 2 * number


async def child() -> bytes:
    """What a child of an event loop prints."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(2)", stdout=asyncio.subprocess.PIPE)
    written, _ = await process.communicate()
    return written


def main() -> None:
    """Do all of it."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(double, [1, 2]) == [2, 4]
    with concurrent.futures.ProcessPoolExecutor(1) as executor:
        assert executor.submit(double, 3).result() == 6
    threads = [threading.Thread(target=double, args=(1,)) for _ in range(4)]
    for thread in threads:
        thread.start()
        thread.join()
    assert subprocess.run("echo one > /dev/null; echo two", shell=True, capture_output=True, check=True).stdout == b"two\n"
    assert asyncio.run(child()) == b"2\n"
    database = sqlite3.connect(os.path.join(tempfile.mkdtemp(), "a.db"))
    database.execute("create table t (x)")
    with open("/tmp/lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
    main_end, other_end = pty.openpty()
    os.write(main_end, b"typed\n")
    assert os.read(other_end, 10) == b"typed\n"
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
    assert socket.if_nameindex()
    socket.socket(socket.AF_INET6).close()
    with open("/dev/urandom", "rb") as random, open("/dev/null", "wb") as nothing:
        nothing.write(random.read(4))
    with open("/dev/shm/a", "w") as shared, open("/proc/meminfo") as memory, open("/proc/cpuinfo") as processors:
        shared.write(memory.readline() + processors.readline())
    os.chmod("/tmp/lock", 0o600)
    print("done")


if __name__ == "__main__":
    main()
