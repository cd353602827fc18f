"""Leaves words in what is not emptied with the folders of a phase, or prints where it finds them."""

import os
import sys

FOLDERS = ("/tmp", "/sandbox", "/var/outputs", "/dev/shm", "/dev/pts", "/dev")
SETTING = "/proc/sys/kernel/shmmax"
WORD, MODE, TIME = 47114711, 0o711, 4711


def attempt(what, *arguments, **options) -> None:
    """Do what may be refused."""
    try:
        what(*arguments, **options)
    except OSError:
        pass


def write(path: str, text: str) -> None:
    """Write a file."""
    with open(path, "w") as file:
        file.write(text)


def leave() -> None:
    """Leave a word everywhere."""
    attempt(write, "/dev/left", str(WORD))
    attempt(write, SETTING, str(WORD))
    for folder in FOLDERS:
        attempt(os.setxattr, folder, "user.left", b"left")
        attempt(os.utime, folder, (TIME, TIME))
        attempt(os.chmod, folder, MODE)


def found() -> list[str]:
    """What of it is there."""
    words = []
    if os.path.exists("/dev/left"):
        words.append("file")
    with open(SETTING) as setting:
        if setting.read().strip() == str(WORD):
            words.append("setting")
    for folder in FOLDERS:
        try:
            if os.getxattr(folder, "user.left"):
                words.append(f"{folder} attribute")
        except OSError:
            pass
        about = os.stat(folder)
        if about.st_mtime == TIME:
            words.append(f"{folder} time")
        if about.st_mode & 0o1777 == MODE:
            words.append(f"{folder} mode")
    return words


if sys.argv[1] == "leave":
    leave()
else:
    print(found())
