"""Holds a lock whose range is a message, and prints whether /proc/locks shows that to everybody on the machine."""

import fcntl
import struct

START, LENGTH = 0x7A5A << 40, 4711
SET_LOCK_OF_OPEN_FILE = 37

file = open("/tmp/locks", "w+b")
lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, START, LENGTH, 0)
fcntl.fcntl(file, SET_LOCK_OF_OPEN_FILE, lock)
with open("/proc/locks") as locks:
    print(any(line.split()[-2:] == [str(START), str(START + LENGTH - 1)] for line in locks))
