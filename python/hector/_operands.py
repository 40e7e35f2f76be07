"""Models and graphs by number, for operators of PyTorch, which take no other objects."""

import weakref

models: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
graphs: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


def alive(known):
    """What a dictionary of these has, also while other threads add to it."""
    found = (reference() for reference in known.valuerefs())
    return [item for item in found if item is not None]
