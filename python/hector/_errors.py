"""What goes wrong, sorted by who can act on it."""


class HectorError(Exception):
    """Anything that Hector refuses or fails at."""


class InvalidError(HectorError, ValueError):
    """An argument is wrong: a shape, a type, a name, an id; or a limit is too small."""


class ModelError(HectorError):
    """The text of a model is wrong. The message shows the place and what to write instead."""


class MachineError(HectorError, RuntimeError):
    """The machine does not suffice: memory, disk, no C++ compiler."""


class InternalError(HectorError, RuntimeError):
    """A bug of Hector."""
