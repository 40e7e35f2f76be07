"""What was used last."""

from __future__ import annotations

from collections import OrderedDict


class Recent(OrderedDict):
    """A dictionary that forgets what was not used for longest. `find` counts as a use.

    Each step is one operation of `OrderedDict`, so threads need no lock: at worst a value is made twice.
    """

    def __init__(self, limit):
        super().__init__()
        self.limit = limit

    def find(self, key):
        """The value, or None."""
        value = self.get(key)
        if value is not None:
            try:
                self.move_to_end(key)
            except KeyError:  # another thread has just dropped it
                pass
        return value

    def keep(self, key, value):
        self[key] = value
        while len(self) > self.limit:
            try:
                self.popitem(last=False)
            except KeyError:
                break
        return value
