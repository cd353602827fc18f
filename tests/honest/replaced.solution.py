"""Report on a service."""

import json
import time


def fetch(name):
    """What a service says of itself."""
    time.sleep(0.01)
    return json.loads('{"name": "%s", "errors": 0}' % name)


def healthy(answer, limit=3):
    """Whether an answer is a good one."""
    return answer.get("errors", 0) < limit


def report(names):
    """Each service with what is known of it."""
    lines = []
    for name in names:
        answer = fetch(name)
        state = "up" if healthy(answer) else "down"
        lines.append(f"{name}: {state}")
    return "\n".join(lines)


def main():
    print(report(["a"]))


if __name__ == "__main__":
    main()
