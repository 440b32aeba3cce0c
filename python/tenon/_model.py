"""Models: loading, looking at, calling."""

import os
from collections.abc import Iterable

import numpy as np

from . import _tenon
from ._plan import Plan, Profile
from ._runtime import Runtime, path_of, shared

_NO_OPTIMIZE = 1
# "f32" and so on as NumPy has them: "f4"
_NUMPY = {f"{kind}{8 * size}": f"{kind}{size}" for kind in "fiu" for size in (1, 2, 4, 8)}


class Value:
    """An input, output or state of a model.

    kind: "tensor", "sequence", "optional" or "map"; dtype: "f32" and so on, None if it is open;
    shape: a tuple of ints, names of open dims, None for those without a name; None if it is open.
    kinds: what stands around the tensors, from the outside in, as pairs of a kind and, of maps, the
    dtype of their keys: [("sequence", None), ("map", "i64")]; [] of a tensor.
    """

    __slots__ = ("name", "kind", "dtype", "shape", "has_default", "kinds")

    def __init__(self, name, type_, dim_names, has_default, kinds=()):
        self.name = name
        self.kind, self.dtype, shape = type_
        self.has_default = has_default
        self.kinds = list(kinds)
        if shape is not None:
            shape = tuple(n if n is not None else d for d, n in zip(shape, dim_names))
        self.shape = shape

    @property
    def type(self):
        """In words: "f32[batch,3,?]", "sequence of map of i64 to f32"."""
        text = self.dtype or "?"
        for kind, key in reversed(self.kinds):
            text = f"map of {key or '?'} to {text}" if kind == "map" else f"{kind} of {text}"
        if self.shape is not None:
            text += "[" + ",".join("?" if d is None else str(d) for d in self.shape) + "]"
        return text

    def __repr__(self):
        return f"{self.name}: {self.type}" + (" (has a default)" if self.has_default else "")


class DeviceArray(_tenon.DeviceArray):
    """An array in memory of a device, made by Model.to_device().

    A session can be bound to it: set_input and set_output take it, and nothing is copied in a run.
    It is not to be read or written while a session runs that is bound to it.
    """

    @property
    def shape(self):
        """A tuple of ints."""
        return self._describe()[2]

    @property
    def dtype(self):
        """ "f32" and so on."""
        return self._describe()[1]

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("a DeviceArray is not in memory: a copy is needed")
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __repr__(self):
        return f"<tenon.DeviceArray {self.dtype}[{','.join(map(str, self.shape))}]>"


class Model(_tenon.Model):
    """A loaded model. Any number of threads may call it at once.

    model(x) and model(a, mask=b) answer the output, or a tuple of them; model.run({"x": x}) answers
    a dict. Calls know nothing of each other: states begin anew in each; a session() keeps them.
    """

    _source = None  # what load() was told

    @property
    def inputs(self):
        """What the model takes, in order; those with a default come last."""
        return [Value(*v) for v in self._inputs()]

    @property
    def outputs(self):
        """What the model answers."""
        return [Value(*v) for v in self._outputs()]

    @property
    def states(self):
        """What a run leaves to the next one of its session."""
        return [Value(*v) for v in self._states()]

    @property
    def entries(self):
        """What the file holds to choose from by load(entry=...): signatures or methods, by name."""
        return list(self._entries())

    @property
    def metadata(self):
        """What its file says of it: name, producer, doc and what its author added."""
        return self._metadata()

    @property
    def format(self):
        """The format that it was read from: "onnx"."""
        return self._format()

    def session(self):
        """A session whose inputs and outputs are bound by name and stay so from run to run.

        It also keeps the model's states, which the next run begins with.
        """
        return _tenon.Session(self)

    def to_device(self, array, device=None):
        """A DeviceArray with these elements, on a device the model was loaded for (None: its first)."""
        return DeviceArray(self, np.asarray(array), device)

    def _bound(self, args, named):
        session = self.session()
        names = [v.name for v in self.inputs]
        if len(args) == 1 and isinstance(args[0], dict) and not named:
            named, args = args[0], ()
        if len(args) > len(names):
            raise TypeError(f"the model takes {len(names)} inputs, {len(args)} were given")
        for name, value in [*zip(names, args), *named.items()]:
            session.set_input(name, value)
        return session

    def explain(self, *args, **named):
        """The plan: which kernel runs each node, what it costs and why no other does.

        Made for these inputs, or for the declared shapes with open dims taken as 1.
        """
        session = self._bound(args, named)
        if args or named:
            session.run()
        else:
            session.assume_inputs()
            session.prepare()
        return Plan(session.plan(), session.steps())

    def profile(self, *args, runs=10, **named):
        """Times every step of `runs` runs on these inputs."""
        if not isinstance(runs, int):
            raise TypeError(f"runs: must be an int, not {runs!r}")
        if runs < 1:
            raise ValueError(f"runs: is {runs}, at least one is needed")
        session = self._bound(args, named)
        session.run()
        session.profile(True)
        for _ in range(runs):
            session.run()
        return Profile(session.events(), runs)

    def report(self, *args, path="report.html", seconds=1.0, compare=None, **named):
        """Writes a page that shows graph, kernels, times and memory: `tenon report`.

        Made with these inputs, or with random ones of the declared shapes, in a process of its own.
        compare: another such page, to be shown beside it. Only of models that load() made.
        """
        from ._report import write

        names = [v.name for v in self.inputs]
        if len(args) > len(names):
            raise TypeError(f"the model takes {len(names)} inputs, {len(args)} were given")
        types = {v.name: v.dtype for v in self.inputs}
        given = {**dict(zip(names, args)), **named}
        for name, value in given.items():
            is_plain = isinstance(value, (bool, int, float, list, tuple))
            given[name] = np.asarray(value, _NUMPY.get(types.get(name)) if is_plain else None)
        return write(self._source, given, path, seconds, compare)

    def __repr__(self):
        lines = [f"<tenon.Model{', ' + self.format if self.format else ''}"]
        lines += [f"  input  {v}" for v in self.inputs]
        lines += [f"  output {v}" for v in self.outputs]
        lines += [f"  state  {v}" for v in self.states]
        return "\n".join(lines) + ">"

    def _repr_html_(self):
        from ._html import table

        rows = [("input", v.name, v.type) for v in self.inputs]
        rows += [("output", v.name, v.type) for v in self.outputs]
        rows += [("state", v.name, v.type) for v in self.states]
        return table(("", "name", "type"), rows)


def load(
    model,
    *,
    threads=0,
    plugins=(),
    pins=(),
    format=None,
    entry=None,
    optimize=True,
    precision=None,
    device=(),
    fallback=None,
    runtime=None,
    folder=None,
):
    """Loads a model.

    model: the path of its file; or its bytes, or an onnx.ModelProto. folder is then where external
    data is looked for.
    threads, plugins, pins: see Runtime; models that say the same share one. Or runtime: this one.
    format: of the file; None: recognised. entry: of a file that holds several signatures or methods,
    this one (see Model.entries); None: the main one. optimize=False: every node runs as it stands.
    precision: "f16" or "bf16": weights of f32 are kept in that type where kernels read it.
    device: what runs it, like "cuda:0" or "auto", or several; fallback: "forbid", "warn" or "allow":
    may the CPU do work that is meant for a device? None: only with "auto".
    """
    texts = {"format": format, "entry": entry, "precision": precision, "fallback": fallback}
    for name, value in texts.items():
        if value is not None and not isinstance(value, str):
            raise TypeError(f"load: {name} must be a str, not {value!r}")
    if not isinstance(device, (str, Iterable)):
        raise TypeError(f"load: device must be a str or several, not {device!r}")
    if runtime is None:
        runtime = shared(threads, plugins, pins)
    elif not isinstance(runtime, Runtime):
        raise TypeError(f"load: runtime must be a Runtime, not {runtime!r}")
    elif threads or plugins or pins:
        raise TypeError("load: threads, plugins and pins are those of the runtime that is given")
    if not isinstance(optimize, (bool, np.bool_, int)):
        raise TypeError(f"load: optimize must be a bool, not {optimize!r}")
    how = {**texts, "flags": 0 if optimize else _NO_OPTIMIZE}
    how["devices"] = [device] if isinstance(device, str) else list(device)
    if hasattr(model, "SerializeToString"):
        model, how["format"] = model.SerializeToString(), "onnx"
    if isinstance(model, (bytes, bytearray, memoryview)):
        folder, model = None if folder is None else path_of(folder, "folder"), bytes(model)
        loaded = Model(runtime, data=model, folder=folder, **how)
    else:
        if not isinstance(model, (str, os.PathLike)):
            raise TypeError(f"load: model is {model!r}, not a path, bytes or an onnx.ModelProto")
        loaded = Model(runtime, model, **how)
    loaded._source = model, folder, runtime, how
    return loaded
