"""The look whether a Pod's network is closed, before anything of the job runs."""

from __future__ import annotations

import select
import socket
from time import monotonic, sleep

_LOOK_SECONDS = 0.2
"""A closed network is silent, so a look takes this long."""
_PATIENCE_SECONDS = 5.0
"""Some clusters close the network of a new Pod a moment after it has started."""


class Probe:
    """Knocks at one address that the policy must close."""

    def __init__(self, address: str) -> None:
        """Start to connect to `host:port`; a host of IPv6 stands in brackets."""
        host, _, port = address.rpartition(":")
        self._target = (host.strip("[]"), int(port))
        self._family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._first = self._knock()

    def is_closed(self) -> bool:
        """Whether the address keeps silent; what is left of the first look, unless somebody answers."""
        patience = monotonic() + _PATIENCE_SECONDS
        knocking = self._first
        while self._answers(*knocking):
            if monotonic() > patience:
                return False
            sleep(0.1)
            knocking = self._knock()
        return True

    def _knock(self) -> tuple[socket.socket, float]:
        knocking = socket.socket(self._family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        knocking.connect_ex(self._target)
        return knocking, monotonic() + _LOOK_SECONDS

    @staticmethod
    def _answers(knocking: socket.socket, until: float) -> bool:
        # A refusal is no answer of the target: policies are enforced that way, too.
        with knocking:
            poller = select.poll()
            poller.register(knocking, select.POLLOUT)
            ready = poller.poll(max(0.0, until - monotonic()) * 1000)
            return bool(ready) and knocking.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
