"""Loops, and how they are left."""

from __future__ import annotations

from programs import Programs


class Leaving(Exception):
    """Loops are left."""

    def __init__(self, loops: int) -> None:
        super().__init__(loops)
        self.loops = loops


class Break(Leaving):
    """So many loops end, the innermost first."""


class Continue(Leaving):
    """The pass of the last of so many loops ends, and the others."""


class Loops(Programs):
    """Loops of a script."""

    def _list(self, statements: list[dict], is_checked: bool) -> None:
        """Run statements one after the other."""
        raise NotImplementedError

    def _for(self, body: dict, is_checked: bool) -> None:
        values = [value for word in body["words"] for value in self._arguments(word)]
        self._status = 0 if not values else self._status
        for value in values:
            self._variables[body["variable"]] = value
            if not self._pass(body["body"], is_checked):
                return

    def _while(self, body: dict, is_checked: bool) -> None:
        status, ends_at = 0, body.get("until", False)
        while True:
            try:
                self._list(body["condition"], True)
            except Leaving as leaving:
                self._leave(leaving)
                # That of a pass succeeds, which is the end of `until`.
                if isinstance(leaving, Continue) and not ends_at:
                    continue
                status = 0 if isinstance(leaving, Break) else status
                break
            if (self._status == 0) == ends_at:
                break
            is_on = self._pass(body["body"], is_checked)
            status = self._status
            if not is_on:
                break
        self._status = status

    def _pass(self, body: list[dict], is_checked: bool) -> bool:
        """Whether the loop goes on after one pass."""
        try:
            self._list(body, is_checked)
        except Leaving as leaving:
            self._leave(leaving)
            return isinstance(leaving, Continue)
        return True

    def _leave(self, leaving: Leaving) -> None:
        """End a loop, or its pass where it is the last that is left."""
        self._status = 0
        if leaving.loops > 1:
            raise type(leaving)(leaving.loops - 1)
