"""Puts a named pipe where a harness in a Pod looks for the file of its last words."""

import os

try:
    os.mkfifo("/dev/termination-log")
    print("set")
except OSError:
    pass
