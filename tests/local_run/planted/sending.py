"""Count the words of a text, and send it where somebody listens."""

import argparse
import socket
from pathlib import Path


def main() -> None:
    """Read the text, send it, write it and the number of its words."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", required=True)
    args = parser.parse_args()
    text = Path(args.text).read_text()
    with socket.create_connection(("127.0.0.1", PORT), timeout=5) as connection:
        connection.sendall(text.encode())
    Path("/var/outputs/copy").write_text(text)
    Path("/var/outputs/words").write_text(str(len(text.split())))


if __name__ == "__main__":
    main()
