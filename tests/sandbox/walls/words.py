"""Two programs, in sandboxes of their own. `tell` was given a word and holds a lock whose range is the word, until somebody answers; `hear` waits
for such a lock, answers with one of its own, and prints the word. Neither waits for longer than it is told to."""

import fcntl
import struct
import sys
import time

SET_LOCK_OF_OPEN_FILE = 37

role, channel, seconds, word = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
WORD = (0x7A5B << 40) + (channel << 20)
ANSWER = (0x7A5C << 40) + (channel << 20)
file = open("/tmp/words", "w+b")


def hold(start: int, length: int) -> None:
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, start, length, 0)
    fcntl.fcntl(file, SET_LOCK_OF_OPEN_FILE, lock)


def held(start: int) -> int:
    """The length of a lock that begins there; 0 where nobody holds one."""
    with open("/proc/locks") as locks:
        for line in locks:
            first, last = line.split()[-2:]
            if first == str(start):
                return int(last) - start + 1
    return 0


def wait_for(start: int, is_held: bool) -> int:
    end = time.monotonic() + seconds
    while bool(length := held(start)) != is_held and time.monotonic() < end:
        time.sleep(0.01)
    return length


if role == "tell":
    hold(WORD, word)
    wait_for(ANSWER, True)
else:
    heard = wait_for(WORD, True)
    hold(ANSWER, 1)
    print(heard)
    if heard:
        wait_for(WORD, False)
