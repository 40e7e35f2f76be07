"""Models and graphs by number, for operators of PyTorch, which take no other objects."""

import weakref

models: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
graphs: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
