"""Models: a layer's text, compiled on first use for a graph and the shapes of its inputs."""

from __future__ import annotations

import difflib
import functools
import itertools
import json
import operator
import random
import sys
from pathlib import Path

from . import _arrays, _operands
from ._errors import InvalidError
from ._graph import Graph
from ._layer import Layer, Limits, Setup, text_of
from ._library import CPU, Handle, encoded, lib
from ._recent import Recent
from ._summary import Summary
from ._threads import number_of_threads

_numbers = itertools.count()
_FLOATS = ("f32", "f64", "bf16", "f16")


class Model:
    """A layer that can be called with a graph and its inputs.

    Inputs are given in the order of the declaration or by name; attributes, and sizes that no input has, by name. It
    returns one array, or a tuple where the model returns several. Arrays are those of PyTorch, NumPy or the standard
    library; results are of the same kind as the inputs. With PyTorch, gradients flow through it.

        >>> model = hector.load("models/rgcn.hec")
        >>> y = model(g, x, W, root=root, bias=bias)
    """

    def __init__(self, text: str, name: str = "model", entry: str | None = None):
        texts = encoded(text, "the text of a model"), encoded(name, "`name`"), encoded(entry, "`entry`") if entry else None
        self._handle = Handle(lambda out: lib.hector_model_parse(*texts, out), lib.hector_model_free)
        found = json.loads(lib.hector_model_describe(self._handle.pointer))
        self.__name__: str = found["name"]
        self.inputs: list[str] = [port["name"] for port in found["inputs"]]
        self.attributes: dict[str, str | None] = {item["name"]: item["default"] for item in found["attributes"]}
        self.sizes: list[str] = found["sizes"]
        self._homes = [port["home"] for port in found["inputs"]]
        self._shapes = [port["shape"] for port in found["inputs"]]
        self._places = {name: place for place, name in enumerate(self.inputs)}
        self._text = text, name, entry
        self._number = next(_numbers)
        _operands.models[self._number] = self

    def __repr__(self):
        inputs = (f"{name}: {home}[{', '.join(shape)}]" for name, home, shape in zip(self.inputs, self._homes, self._shapes))
        return f"<hector.Model {self.__name__}({', '.join(inputs)})>"

    def __deepcopy__(self, _):
        return self  # nothing about it changes

    def __reduce__(self):
        return Model, self._text

    # --- calling

    def __call__(self, g: Graph, *inputs, training: bool = False, **named):
        values, settings, sizes = self._bind(inputs, named)
        if _is_compiling():
            results = _operators().call(self, g, values, settings, sizes, training)
        elif _arrays.is_any_torch(values):
            results = _torch().call(self, g, values, settings, sizes, training)
        else:
            views = [_arrays.view(value, name) for value, name in zip(values, self.inputs)]
            layer = self._layer(g, views, settings, sizes)
            results = self._run(layer, values, views, _randomness(training))[0]
        return results[0] if len(results) == 1 else tuple(results)

    def value_and_grad(
        self, g: Graph, *inputs, wrt: list[str] | None = None, output_gradients=None, training: bool = False, **named
    ):
        """Results, and the gradients of inputs by name, for arrays that are not PyTorch's.

        `wrt` lists the inputs; by default all of them. Gradients start from `output_gradients`, one for each result, where
        None stands for zeros; or from ones: then they are those of the sum of all results. `training` is that of a call.
        """
        values, settings, sizes = self._bind(inputs, named)
        if wrt is not None and (not isinstance(wrt, (list, tuple)) or not all(isinstance(name, str) for name in wrt)):
            raise InvalidError(f"`wrt` is {wrt!r}; expected a list of names of inputs, such as [{self.inputs[0]!r}]")
        wanted = tuple(self.inputs if wrt is None else dict.fromkeys(wrt))
        if not wanted:
            raise InvalidError("`wrt` names no input; leave it out for all of them, or call the model for results alone")
        for name in wanted:
            if name not in self._places:
                raise InvalidError(f"`{self.__name__}` has no input `{name}`{self._nearest(name)}")
        views = [_arrays.view(value, name) for value, name in zip(values, self.inputs)]
        layer = self._layer(g, views, settings, sizes, wanted)
        if output_gradients is None:
            starts = [_ones_for(layer, shape, dtype) for shape, dtype in layer.outputs]
        else:
            starts = list(output_gradients) if isinstance(output_gradients, (list, tuple)) else [output_gradients]
            starts = self._starts(layer, starts, self._dtype(views))
        results, gradients = self._run(layer, values, views, _randomness(training), starts)
        found = dict(zip(layer.gradient_names, gradients))
        return (results[0] if len(results) == 1 else tuple(results)), found

    def _starts(self, layer, given, dtype):
        """The gradients of results as the layer takes them. Those of 16-bit numbers are computed in 32 bits."""
        starts = [None if value is None else _arrays.view(value, "output_gradients") for value in given]
        fits = len(starts) == len(layer.outputs) and all(
            view is None or (view.shape == shape and view.dtype in (dtype, computed))
            for view, (shape, computed) in zip(starts, layer.outputs)
        )
        if not fits:
            found = ", ".join("None" if view is None else f"{view.dtype} {list(view.shape)}" for view in starts)
            needed = ", ".join(f"{dtype} {list(shape)}" for shape, _ in layer.outputs)
            raise InvalidError(f"`output_gradients` are {found}; expected {needed}, as the results have")
        for place, (view, (_, computed)) in enumerate(zip(starts, layer.outputs)):
            if view is not None and view.dtype != computed:
                value = _arrays.kind_of(view.owner).converted(view.owner, computed)
                starts[place] = _arrays.view(value, "output_gradients")
                if starts[place].dtype != computed:
                    raise InvalidError(f"`output_gradients` hold {view.dtype}; expected {computed}")
        return starts

    def _run(self, layer, values, views, randomness, starts=None):
        """Results as arrays of the caller's kind and type and, from `starts`, gradients."""
        if layer.is_on_gpu:
            results, gradients = _run_on_gpu(layer, views, randomness, starts)
            return self._converted(layer, views, _arrays.torch_arrays(), results, gradients)
        kind = _arrays.kind_of(values[0]) if values else _arrays.kind_of(())
        made = [kind.empty(shape, dtype) for shape, dtype in layer.outputs]
        gradients = [kind.empty(shape, dtype) for shape, dtype in layer.gradients] if starts is not None else []
        run = layer.take_run()
        run.forward([view.pointer for view in views], [view.pointer for _, view in made], randomness)
        if starts is not None:
            run.backward([view and view.pointer for view in starts], [view.pointer for _, view in gradients])
        layer.give_back(run)  # a run that failed is not used again
        return self._converted(layer, views, kind, [array for array, _ in made], [array for array, _ in gradients])

    def _converted(self, layer, views, kind, results, gradients):
        """What a layer has computed, in the types of its inputs."""
        dtype = self._dtype(views)
        types = (views[self._places[name]].dtype for name in layer.gradient_names)
        return (
            [array if own == dtype else kind.converted(array, dtype) for array, (_, own) in zip(results, layer.outputs)],
            [
                array if own == wanted else kind.converted(array, wanted)
                for array, (_, own), wanted in zip(gradients, layer.gradients, types)
            ],
        )

    # --- what to compile

    def _bind(self, inputs, named):
        """The values of inputs in their order, and the settings of attributes and sizes."""
        if not named and len(inputs) == len(self.inputs):
            return inputs, (), ()
        if len(inputs) > len(self.inputs):
            raise InvalidError(
                f"`{self.__name__}` has {len(self.inputs)} inputs ({', '.join(self.inputs)}), but is given {len(inputs)}"
            )
        values = list(inputs) + [None] * (len(self.inputs) - len(inputs))
        given = [place < len(inputs) for place in range(len(values))]
        settings, sizes = [], []
        for name, value in named.items():
            place = self._places.get(name)
            if place is not None:
                if given[place]:
                    raise InvalidError(f"input `{name}` is given twice")
                values[place], given[place] = value, True
            elif name in self.attributes:
                settings.append(f"{name}={spelled(name, value)}")
            elif name in self.sizes:
                sizes.append(f"{name}={spelled(name, value)}")
            else:
                raise InvalidError(f"`{self.__name__}` has no input or attribute `{name}`{self._nearest(name)}")
        missing = [name for name, is_given in zip(self.inputs, given) if not is_given]
        if missing:
            raise InvalidError(f"`{self.__name__}` needs {_list(missing)} as well")
        return values, tuple(sorted(settings)), tuple(sorted(sizes))

    def _nearest(self, name):
        near = difflib.get_close_matches(name, [*self.inputs, *self.attributes, *self.sizes], 1)
        return f"; did you mean `{near[0]}`?" if near else f"; its inputs are {', '.join(self.inputs)}"

    def _layer(self, g, views, settings, sizes, gradients=None) -> Layer:
        """The compiled layer, from those of the graph or new. A graph keeps the last 32 of each model."""
        place = self._place(views)
        limit = number_of_threads() if place == CPU else Limits.precision
        key = (place, limit, Limits.memory, settings, sizes, gradients, *((view.shape, view.dtype) for view in views))
        try:
            layers = g._layers.get(self)
        except AttributeError:
            raise InvalidError(f"the first argument is a {type(g).__name__}; expected a hector.Graph") from None
        if layers is None:
            layers = g._layers.setdefault(self, Recent(32))
        layer = layers.find(key)
        if layer is None:
            dtype = self._dtype(views)
            fitting = self._check_rows(g, views)
            setup = Setup(settings, sizes, gradients, dtype, place=place, threads=number_of_threads())
            make = functools.partial(Layer, self._handle, fitting._handle, setup, [(view.shape, view.dtype) for view in views])
            if place != CPU:
                from . import _gpu

                make = functools.partial(_gpu.with_memory, make)
            layer = layers.keep(key, make())
        return layer

    def _place(self, views):
        """Where a layer runs: where its inputs are."""
        place = views[0].place if views else CPU
        for view, name in zip(views, self.inputs):
            if view.place != place:
                raise InvalidError(
                    f"`{self.inputs[0]}` is on {_spelled_place(place)} and `{name}` on {_spelled_place(view.place)}; "
                    "move one of them, as all inputs have to be on one device"
                )
        return place

    def _dtype(self, views):
        """The type of number that a layer computes with: that of its inputs."""
        found, first = None, None
        for view, name in zip(views, self.inputs):
            if view.dtype == "bool":
                continue
            if view.dtype not in _FLOATS:
                raise InvalidError(f"`{name}` holds {view.dtype}, but inputs are floats; convert it to float32")
            if found is not None and view.dtype != found:
                raise InvalidError(f"`{first}` holds {found} and `{name}` {view.dtype}; convert one of them")
            found, first = view.dtype, first or name
        return found or "f32"

    def _check_rows(self, g, views) -> Graph:
        """The graph that inputs fit, which may have more nodes and types than its edges name."""
        most = {"EdgeType": 0, "Node": 0}
        for view, home in zip(views, self._homes):
            if home in most and view.shape:
                most[home] = max(most[home], view.shape[0])
        fitting = g._fitting(most["EdgeType"], most["Node"])
        nouns = {"Node": "nodes", "Edge": "edges", "EdgeType": "edge types", "NodeType": "node types"}
        for view, home, name in zip(views, self._homes, self.inputs):
            rows = fitting._rows.get(home)
            if rows is not None and view.shape and view.shape[0] != rows:
                raise InvalidError(
                    f"`{name}` has shape {list(view.shape)}, but the graph has {rows:,} {nouns[home]}; "
                    f"`{name}: {home}[...]` has one row for each of them"
                )
        return fitting

    # --- looking inside

    def text(self, form: str, g: Graph, *, gradients: bool = False, passes: str | None = None, dtype="f32", **named) -> str:
        """The model for a graph as `flow`, `flow-opt`, `groups`, `summary`, `kern`, `cpp` or `cuda`.

        Sizes and attributes are given by name: `model.text("cpp", g, d_in=64, d_out=64)`.
        """
        unknown = [name for name in named if name not in self.attributes and name not in self.sizes]
        if unknown:
            raise InvalidError(f"`{self.__name__}` has no size or attribute `{unknown[0]}`{self._nearest(unknown[0])}")
        settings = tuple(f"{name}={spelled(name, value)}" for name, value in named.items() if name in self.attributes)
        sizes = tuple(f"{name}={spelled(name, value)}" for name, value in named.items() if name in self.sizes)
        setup = Setup(settings, sizes, () if gradients else None, _arrays.dtype_name(dtype), passes)
        if not isinstance(g, Graph):
            raise InvalidError(f"the graph is a {type(g).__name__}; expected a hector.Graph")
        return text_of(self._handle, g._handle, setup, form)

    def summary(self, g: Graph, **named) -> Summary:
        """What the compiled layer does, loop by loop, and what it takes. A notebook shows it as a picture."""
        return Summary(self.text("summary", g, **named))

    def flow(self, g: Graph, **named) -> str:
        """The layer's data flow after all passes."""
        return self.text("flow-opt", g, **named)

    def source(self, language: str, g: Graph, **named) -> str:
        """The generated code, "cpp" or "cuda"."""
        if language not in ("cpp", "cuda"):
            raise InvalidError(f"there is no source in `{language}`; expected cpp or cuda")
        return self.text(language, g, **named)


def _torch():
    from . import _torch

    return _torch


def _operators():
    try:
        return sys.modules["hector._torch_ops"]
    except KeyError:
        raise InvalidError("torch.compile needs Hector's operators; import torch before hector") from None


def _is_compiling():
    """Whether PyTorch traces this call for torch.compile."""
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch.library, "register_autograd") and torch.compiler.is_compiling()  # from 2.4 on


def spelled(name, value):
    """A value as the language spells it. Numbers may be NumPy's."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):  # NumPy's are no bools
        return repr(bool(value))
    for convert in (operator.index, float):
        try:
            return repr(convert(value))
        except (TypeError, ValueError):
            pass
    raise InvalidError(f"`{name}` is a {type(value).__name__}; expected a number, a truth value or a text")


def _spelled_place(place):
    """A device as PyTorch spells it."""
    return "cpu" if place == CPU else f"cuda:{place[1]}"


def _randomness(training):
    return (random.getrandbits(62), 0) if training else None


def _list(names):
    return ", ".join(f"`{name}`" for name in names)


def _run_on_gpu(layer, views, randomness, starts):
    """Results and, from `starts`, gradients."""
    from ._passes import Lease

    lease = Lease(layer)
    results = lease.forward(views, randomness)
    gradients = [] if starts is None else lease.backward([view and view.owner for view in starts])
    lease.close()
    return results, gradients


def _ones_for(layer, shape, dtype):
    """The gradient of the sum of a result."""
    if layer.is_on_gpu:
        import torch

        from . import _gpu

        arrays = _arrays.torch_arrays()
        return arrays.view(torch.ones(shape, dtype=arrays.by_name[dtype], device=_gpu.device_of(layer.place)), "ones")
    return _arrays.view(_ones(shape, dtype), "ones")._replace(shape=shape)


def _ones(shape, dtype):
    from array import array

    count = 1
    for extent in shape:
        count *= extent
    return array("f" if dtype == "f32" else "d", [1.0]) * count


def parse(text: str, name: str = "model", entry: str | None = None) -> Model:
    """A model from its text. Messages call it `name`."""
    return Model(text, name, entry)


def load(path, entry: str | None = None) -> Model:
    """A model from a file, such as models/rgcn.hec."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, TypeError, ValueError) as error:
        raise InvalidError(f"cannot read model `{path}`: {error}") from None
    return Model(text, str(path).encode("utf-8", "replace").decode(), entry)
