"""The look whether a Pod's network is closed, before anything of the job runs."""

from __future__ import annotations

import errno
import select
import socket
from time import monotonic, sleep

_LOOK_SECONDS = 0.2
"""A closed network is silent, so a look takes this long."""
_PATIENCE_SECONDS = 5.0
"""Some clusters close the network of a new Pod a moment after it has started."""
_SILENT_LOOKS = 5
"""So many looks in a row must find silence where somebody has answered before."""


class Probe:
    """Knocks at one address that the policy must close."""

    def __init__(self, address: str) -> None:
        """Start to connect to `host:port`; a host of IPv6 stands in brackets."""
        host, _, port = address.rpartition(":")
        self._target = (host.strip("[]"), int(port))
        self._family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._knock()

    def is_closed(self) -> bool:
        """Whether the address keeps silent; what is left of the first look, unless somebody answers."""
        patience = monotonic() + _PATIENCE_SECONDS
        silent, wanted = 0, 1
        while monotonic() < patience:
            if self._answers(self._until):
                silent, wanted = 0, _SILENT_LOOKS
            else:
                silent += 1
            if silent == wanted:
                return True
            self._knocking.close()
            sleep(0.05)
            self._knock()
        return False

    def has_answered(self) -> bool:
        """Whether an answer has come since: late, but the network was open."""
        return self._answers(0.0)

    def _knock(self) -> None:
        self._knocking = socket.socket(self._family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        # Within the machine a refusal comes at once, and leaves no error at the socket.
        self._is_refused = self._knocking.connect_ex(self._target) not in (0, errno.EINPROGRESS)
        self._until = monotonic() + _LOOK_SECONDS

    def _answers(self, until: float) -> bool:
        # A refusal is no answer of the target: policies are enforced that way, too.
        if self._is_refused:
            return False
        poller = select.poll()
        poller.register(self._knocking, select.POLLOUT)
        ready = poller.poll(max(0.0, until - monotonic()) * 1000)
        return bool(ready) and self._knocking.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
