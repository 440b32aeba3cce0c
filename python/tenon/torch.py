"""PyTorch: torch.compile(model, backend="tenon"), and operators of plug-ins as torch.ops.

A captured graph goes through torch.export to Tenon, once for all sizes that Dynamo leaves open; if
Tenon refuses it so, once for each set of input shapes. What Tenon cannot read so goes through
PyTorch's exporter of ONNX (the package onnxscript), where that is there. Parameters and buffers of modules become constants, which kernels prepare; when one of them
is changed, the graph is compiled anew. Inputs and buffers that the graph writes are inputs and
outputs of the model, in one memory.
"""

import copy
import importlib.util
import io
import logging
import operator
import os
import threading
import warnings

import numpy as np
import torch
from torch.utils import _pytree as pytree

from ._errors import CancelledError, Error, InvalidError
from ._model import load
from ._ops import Schema
from ._runtime import shared

if not hasattr(getattr(torch, "onnx", None), "ops"):
    raise ImportError(f"tenon.torch needs PyTorch 2.8 or newer; this is {torch.__version__}")

_log = logging.getLogger("tenon.torch")
_OPTIONS = {"threads", "plugins", "pins", "precision", "fallback", "most_shapes"}
_EXPORTS = threading.Lock()  # the exporter is one at a time


class _Unfit(Exception):
    """The graph is nothing for Tenon; its text says why."""


# ---- tensors there and back ----


def _to_tenon(tensor):
    if not isinstance(tensor, torch.Tensor):
        return tensor
    if tensor.device.type != "cpu":
        raise _Unfit(f"an input lies on {tensor.device}")
    return tensor.detach().resolve_conj().resolve_neg().contiguous()


def _array(tensor):
    """The memory of a tensor, for results to be written to."""
    name = str(tensor.dtype).split(".")[1]
    if name != "bfloat16" and not name.startswith("float8"):
        return tensor.numpy()
    import ml_dtypes  # NumPy has no such type

    bits = tensor.view(torch.int16 if name == "bfloat16" else torch.uint8)
    return bits.numpy().view(getattr(ml_dtypes, name))


def _to_torch(array):
    array = np.asarray(array)
    dtype = getattr(torch, array.dtype.name, None)
    if array.dtype.kind == "V" or array.dtype.name in ("bfloat16",):  # NumPy has no such type
        return torch.from_numpy(array.view(np.int16)).view(dtype)
    if array.dtype.name.startswith("float8"):
        return torch.from_numpy(array.view(np.uint8)).view(dtype)
    return torch.from_numpy(array)


# ---- what a captured graph takes and answers ----


def _is_of_module(placeholder, value):
    """A parameter or a buffer: it stays the same from call to call."""
    source = getattr(placeholder, "_dynamo_source", None)
    while source is not None:
        if type(source).__name__ == "UnspecializedParamBufferSource":
            return True
        source = getattr(source, "base", None)
    return isinstance(value, torch.nn.Parameter)


def _is_open(size):
    return isinstance(size, torch.SymInt) and size.node.maybe_as_int() is None


class _Sizes:
    """What Dynamo leaves open of the arguments of a graph.

    dims: {index of a tensor: its open dims}; of: {index of a number: (tensor, dim) whose size it
    is}; numbers: indices of other integers.
    """

    def __init__(self, placeholders, used):
        values = [p.meta.get("example_value") for p in placeholders]
        places, self.dims = {}, {}
        for k, value in enumerate(values):
            if isinstance(value, torch.Tensor):
                dims = [i for i, size in enumerate(value.shape) if _is_open(size)]
                self.dims.update({k: dims} if dims else {})
                for i in dims:
                    places.setdefault(str(value.shape[i]), (k, i))
        open_ = {k: str(v) for k, v in enumerate(values) if _is_open(v)}
        self.of = {k: places[name] for k, name in open_.items() if name in places}
        self.numbers = [k for k in open_ if k not in self.of and k in used]

    def __bool__(self):
        return bool(self.dims or self.numbers)

    def dynamic(self, k):
        """What torch.export takes for the argument k."""
        auto = torch.export.Dim.AUTO
        return auto if k in self.numbers else {i: auto for i in self.dims.get(k, ())}


def _is_float(placeholder):
    """A number of Python's, which Dynamo hands on as a tensor whose item() the graph takes."""
    value, users = placeholder.meta.get("example_value"), placeholder.users
    return (
        isinstance(value, torch.Tensor)
        and (value.dtype, value.dim()) == (torch.float64, 0)
        and all(n.op == "call_method" and n.target == "item" for n in users)
        and bool(users)
    )


def _stamp(tensor):
    """Differs when the tensor is another one, or was written to."""
    return tensor.data_ptr(), tensor._version


def _storage(node):
    """Which memory a value of the graph lies in."""
    value = node.meta.get("example_value") if isinstance(node, torch.fx.Node) else None
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return None
    return value.untyped_storage()._cdata


def _writes(node):
    """A call that answers its first argument, which it has written."""
    if node.op not in ("call_method", "call_function"):
        return False
    schema = getattr(node.target, "_schema", None)
    if schema is not None:
        return schema.is_mutable
    name = node.target if node.op == "call_method" else getattr(node.target, "__name__", "")
    if getattr(operator, f"__{name}__", None) is node.target and name[0] == "i":
        return name not in ("index", "inv", "invert")
    return name.endswith("_") and not name.endswith("__")


def _needed(leaves, inputs_of):
    needed, left = set(), list(leaves)
    while left:
        node = left.pop()
        if node not in needed:
            needed.add(node)
            left += inputs_of(node)
    return needed


def _part(graph_module, leaves):
    """The part of a graph that answers some of its leaves; nothing is written in it."""
    needed = _needed(leaves, lambda n: [n.args[0]] if _writes(n) else n.all_input_nodes)
    graph, copies = torch.fx.Graph(), {}
    for node in graph_module.graph.nodes:
        if node in needed and _writes(node):
            copies[node] = copies[node.args[0]]
        elif node in needed or node.op == "placeholder":
            copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output(tuple(copies[leaf] for leaf in leaves))
    return torch.fx.GraphModule(graph_module, graph)


class _Answer:
    """The outputs of a graph: which of its leaves the model computes. Views of inputs and numbers
    that depend on shapes are PyTorch's."""

    def __init__(self, graph_module):
        nodes = list(graph_module.graph.nodes)
        output = next(n for n in nodes if n.op == "output")
        self.leaves, self.spec = pytree.tree_flatten(output.args[0])
        given = {_storage(n) for n in nodes if n.op == "placeholder"} - {None}
        self.others = [
            k for k, leaf in enumerate(self.leaves) if self._is_number(leaf) or _storage(leaf) in given
        ]
        self.part = self.others and _part(graph_module, [self.leaves[k] for k in self.others])
        own = [leaf for k, leaf in enumerate(self.leaves) if self._is_tensor(k)]
        calls = [n for n in nodes if n.op not in ("placeholder", "output")]
        writes = [n for n in calls if _writes(n)]
        self.is_empty = not own and not writes  # nothing is left for a model
        own += writes + [n for n in calls if n.is_impure()]
        needed = _needed(own, lambda n: n.all_input_nodes)
        placeholders = [n for n in nodes if n.op == "placeholder"]
        self.used = {k for k, n in enumerate(placeholders) if n in needed and n.users}

    @staticmethod
    def _is_number(leaf):
        value = leaf.meta.get("example_value") if isinstance(leaf, torch.fx.Node) else None
        return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool, int, float))

    def _is_tensor(self, k):
        return isinstance(self.leaves[k], torch.fx.Node) and k not in self.others

    def before(self, args):
        """What PyTorch answers, {leaf: value}; before the run, which may write to the inputs."""
        return dict(zip(self.others, self.part(*args))) if self.part else {}

    def of(self, tensors, others):
        left = iter(tensors)
        leaves = [
            others[k] if k in others else next(left) if self._is_tensor(k) else leaf
            for k, leaf in enumerate(self.leaves)
        ]
        return pytree.tree_unflatten(leaves, self.spec)

    def tensors(self, answer):
        leaves = pytree.tree_leaves(answer, is_leaf=lambda x: x is None)
        return tuple(v for k, v in enumerate(leaves) if self._is_tensor(k))


class _Frozen(torch.nn.Module):
    """The graph as a function of what changes; the rest is constant."""

    def __init__(self, graph_module, answer, sizes, args, takes):
        super().__init__()
        self.inner, self.answer, self.sizes, self.takes = graph_module, answer, sizes, takes
        self.rest = [None if k in takes else a for k, a in enumerate(args)]
        for k, value in enumerate(self.rest):
            if isinstance(value, torch.Tensor):
                self.register_buffer(f"constant{k}", value.detach())
                self.rest[k] = None

    def forward(self, *changing):
        args = list(self.rest)
        for name, value in self.named_buffers(recurse=False):
            args[int(name.removeprefix("constant"))] = value
        for k, value in zip(self.takes, changing):
            args[k] = value
        for k, (tensor, dim) in self.sizes.of.items():
            args[k] = args[tensor].shape[dim]
        return self.answer.tensors(self.inner(*args))


def _cause(error):
    while error.__cause__ is not None:
        error = error.__cause__
    return (str(error).strip() or type(error).__name__).splitlines()[0]


# ---- layers that PyTorch fuses before it captures a graph ----


def _encoder_layer(
    x, width, n_heads, qkv_w, qkv_b, out_w, out_b, gelu, norm_first, eps, w1, b1, w2, b2, *rest
):
    up_w, up_b, down_w, down_b, *masks = rest
    if masks and masks[0] is not None:
        raise _Unfit("a TransformerEncoderLayer of PyTorch's fast path has a mask")

    def attention(y):
        n, length, _ = y.shape
        qkv = torch.nn.functional.linear(y, qkv_w, qkv_b)
        q, k, v = (
            t.reshape(n, length, n_heads, -1).transpose(1, 2) for t in qkv.split(width, dim=-1)
        )
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        y = y.transpose(1, 2).reshape(n, length, width)
        return torch.nn.functional.linear(y, out_w, out_b)

    def forward(y):
        y = torch.nn.functional.linear(y, up_w, up_b)
        y = torch.nn.functional.gelu(y) if gelu else torch.relu(y)
        return torch.nn.functional.linear(y, down_w, down_b)

    def norm(y, w, b):
        return torch.nn.functional.layer_norm(y, (width,), w, b, eps)

    if norm_first:
        x = x + attention(norm(x, w1, b1))
        return x + forward(norm(x, w2, b2))
    x = norm(x + attention(x), w1, b1)
    return norm(x + forward(x), w2, b2)


def _calls(graph_module, functions):
    nodes = graph_module.graph.nodes
    return any(n.op == "call_function" and n.target in functions for n in nodes)


def _replace(node, number):
    for user in list(node.users):
        given = (user.args, user.kwargs)
        user.args, user.kwargs = torch.fx.map_arg(given, lambda n: number if n is node else n)
    node.graph.erase_node(node)


def _exportable(graph_module, floats):
    """The same with what can be exported in place of what cannot; floats: {index of an argument:
    the number that it is}."""
    others = {torch._transformer_encoder_layer_fwd: _encoder_layer, **_symbolics}
    if not floats and not _calls(graph_module, others):
        return graph_module
    graph_module = copy.copy(graph_module)
    graph_module.graph = copy.deepcopy(graph_module.graph)
    placeholders = [n for n in graph_module.graph.nodes if n.op == "placeholder"]
    for k, number in floats.items():
        for item in list(placeholders[k].users):
            _replace(item, number)
    for node in graph_module.graph.nodes:
        if node.op == "call_function" and node.target in others:
            node.target = others[node.target]
    graph_module.recompile()
    return graph_module


def _saved(program):
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


def _in_c_order(node):
    value = node.meta.get("example_value")
    return not isinstance(value, torch.Tensor) or value.is_contiguous()


def _check_strided(graph_module):
    """as_strided reads memory as it lies, and here inputs lie in C order."""
    nodes = graph_module.graph.nodes
    if all(_in_c_order(n) for n in nodes if n.op == "placeholder"):
        return
    for node in nodes:
        name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
        if node.op in ("call_method", "call_function") and name.startswith("as_strided"):
            if not _in_c_order(node.all_input_nodes[0]):
                raise _Unfit(f"{node.name} is as_strided of a tensor that is not contiguous")


def _forms(module, args, dynamic, graph_module, floats):
    """What a graph can be loaded from, best first: functions that make it."""
    _check_strided(graph_module)
    shapes = {"changing": dynamic} if dynamic else None
    module = module(_exportable(graph_module, floats))
    program = torch.export.export(module, args, dynamic_shapes=shapes)
    if not _calls(graph_module, _symbolics):  # those are nodes of ONNX
        yield lambda: _saved(program)
        yield lambda: _saved(program.run_decompositions({}))
    if importlib.util.find_spec("onnxscript"):
        yield lambda: _as_onnx(program)


def _as_onnx(program):
    program = program.run_decompositions({})  # writes become outputs
    signature = program.graph_signature
    if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
        raise _Unfit("the graph writes to its inputs or buffers")
    return torch.onnx.export(program, (), dynamo=True, verbose=False).model_proto


class _Entry:
    """The model for one set of shapes, or for many.

    takes: which arguments of the graph are its inputs.
    """

    def __init__(self, model, answer, takes):
        self.model, self.answer, self.takes, self.lock = model, answer, takes, threading.Lock()
        inputs = model.inputs[: len(takes)]
        self.inputs, self.shapes = [v.name for v in inputs], [v.shape for v in inputs]
        names = [v.name for v in model.outputs]
        self.written = {k: f"{i}.out" for k, i in enumerate(self.inputs) if f"{i}.out" in names}
        self.outputs = [name for name in names if name not in self.written.values()]
        self.session = model.session() if self.written else None

    def fits(self, args):
        """Whether it is for these shapes."""
        sizes = {}
        for k, shape in zip(self.takes, self.shapes):
            given = args[k].shape if isinstance(args[k], torch.Tensor) else ()
            for name, size in zip(shape, given):
                if isinstance(name, str):
                    name = sizes.setdefault(name, size)
                if name is not None and name != size:
                    return False
        return True

    def run(self, args):
        others = self.answer.before(args)
        values = [_to_tenon(args[k]) for k in self.takes[: len(self.inputs)]]
        if self.session:
            with self.lock:
                outputs = self._write([args[k] for k in self.takes], values)
        else:
            outputs = self.model(*values)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return self.answer.of([_to_torch(o) for o in outputs], others)

    def _write(self, given, tensors):
        for name, tensor in zip(self.inputs, tensors):
            self.session.set_input(name, tensor)
        for k, name in self.written.items():
            self.session.set_output(name, _array(tensors[k]))
        self.session.run()
        for k in self.written:
            if given[k].data_ptr() != tensors[k].data_ptr():
                given[k].copy_(tensors[k])
            elif not given[k].is_inference():
                torch.autograd.graph.increment_version(given[k])
        return [self.session.output(name) for name in self.outputs]


class _Compiled:
    """A captured graph: called with its inputs, it runs the model for their shapes."""

    def __init__(self, graph_module, inputs, options):
        self.graph_module = graph_module
        self.answer = _Answer(graph_module)
        placeholders = [n for n in graph_module.graph.nodes if n.op == "placeholder"]
        self.fixed = [
            k
            for k, (p, v) in enumerate(zip(placeholders, inputs))
            if isinstance(v, torch.Tensor) and _is_of_module(p, v) and not v.is_inference()
        ]
        self.numbers = [k for k, p in enumerate(placeholders) if _is_float(p)]
        self.floats = {k: set() for k in self.numbers}  # those that are constants, and their values
        self.sizes = _Sizes(placeholders, self.answer.used)
        self.changes = dict.fromkeys(self.fixed, 0)
        self.options = options
        self.fallback = options.pop("fallback", "warn")
        self.most = options.pop("most_shapes", 8)
        if self.fallback not in ("forbid", "warn", "allow"):
            raise InvalidError(f"fallback is forbid, warn or allow, not {self.fallback!r}")
        self.models, self.stamps, self.lock = {}, None, threading.Lock()
        self.open = []  # models of many shapes, with what else they are for
        self.can_be_open = bool(self.sizes or self.floats)
        self.given_up = None

    def give_up(self, reason):
        text = f"tenon cannot run a part of the model: {reason}"
        if self.fallback == "forbid":
            raise Error(text)
        if self.fallback == "warn" and self.given_up is None:
            warnings.warn(f"{text}; PyTorch runs it", stacklevel=3)
        _log.info("%s", text)
        self.given_up = text

    def _others(self, args):
        """Arguments that are no tensors and no integers that may change."""
        of, numbers = self.sizes.of, self.sizes.numbers
        floats = (args[k].item() for k in self.floats)
        return *floats, *(
            a if k in self.answer.used else None
            for k, a in enumerate(args)
            if not isinstance(a, torch.Tensor) and k not in of and k not in numbers
        )

    def _key(self, args):
        shapes = tuple(args[k].shape for k in self._tensors(args))
        return shapes, tuple(args[k] for k in self.sizes.numbers), self._others(args)

    def _load(self, form):
        options = dict(self.options)
        options["plugins"] = [*options.get("plugins", ()), *_plugins]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return load(form(), **options)
        except (_Unfit, Error):
            raise
        except Exception as error:  # whatever the exporter stumbles over
            raise _Unfit(f"PyTorch's exporter fails: {_cause(error)}") from error

    def _model(self, args, takes, dynamic):
        """The first form that Tenon can run; the reason why the first was refused, if none is."""
        refused = None
        module = lambda g: _Frozen(g, self.answer, self.sizes, args, takes)  # noqa: E731
        values = tuple(_to_tenon(args[k]) for k in takes)
        floats = {k: args[k].item() for k in self.floats}
        forms = _forms(module, values, dynamic, self.graph_module, floats)
        while True:
            try:
                form = next(forms, None)
            except _Unfit:
                raise
            except Exception as error:
                raise _Unfit(f"PyTorch's exporter fails: {_cause(error)}") from error
            if form is None:
                raise _Unfit(str(refused)) from refused
            try:
                return self._load(form)
            except (_Unfit, Error) as error:
                refused = refused or error

    def _compile(self, args, is_open):
        takes = self._tensors(args) + (self.sizes.numbers if is_open else [])
        tensors = [args[k] for k in takes if isinstance(args[k], torch.Tensor)]
        if any(t.requires_grad for t in tensors) and torch.is_grad_enabled():
            raise _Unfit("gradients are wanted; call it under torch.inference_mode()")
        dynamic = tuple(self.sizes.dynamic(k) for k in takes) if is_open else None
        with _EXPORTS, torch.no_grad():
            model = self._model(args, takes, dynamic)
        written = [int(v.name.split("constant")[-1]) for v in model.states]
        if not written:
            return _Entry(model, self.answer, takes)
        self.fixed = [k for k in self.fixed if k not in written]
        return self._compile(args, is_open)

    def _tensors(self, args):
        """Those that are inputs."""
        fixed = {*self.fixed, *self.floats}
        return [k for k, a in enumerate(args) if isinstance(a, torch.Tensor) and k not in fixed]

    def _note_changes(self, args):
        """What was changed since the last call. A buffer that is changed again and again is an
        input from then on."""
        stamps = {k: _stamp(args[k]) for k in self.fixed}
        if stamps == self.stamps:
            return
        for k in self.fixed if self.stamps else ():
            self.changes[k] += stamps[k] != self.stamps[k]
        self.fixed = [
            k for k in self.fixed if self.changes[k] < 2 or isinstance(args[k], torch.nn.Parameter)
        ]
        self.models, self.open, self.stamps = {}, [], {k: stamps[k] for k in self.fixed}

    def _note_floats(self, args):
        """A number that is another one again and again is an input from then on."""
        for k, seen in list(self.floats.items()):
            seen.add(args[k].item())
            if len(seen) > 2 and self.can_be_open:
                del self.floats[k]

    def _open(self, args):
        """The model of many shapes, these among them; None if there is to be one for each."""
        others = self._others(args)
        for of, entry in self.open:
            if of == others and entry.fits(args):
                return entry
        if self.can_be_open:
            try:
                self.open.append((others, self._compile(args, True)))
                del self.open[: -self.most]
                return self.open[-1][1]
            except (_Unfit, Error) as unfit:
                _log.info("a model for each set of shapes: %s", unfit)
                self.can_be_open = False
                self.floats = {k: set() for k in self.numbers}
        return None

    def _entry(self, args, exact=False):
        """exact: of these shapes alone."""
        with self.lock:
            self._note_changes(args)
            self._note_floats(args)
            entry = self.models.get(self._key(args)) or (None if exact else self._open(args))
            if entry is None:
                entry = self._compile(args, False)
                while len(self.models) >= self.most:
                    self.models.pop(next(iter(self.models)))
                self.models[self._key(args)] = entry
            self.stamps = {k: self.stamps[k] for k in self.fixed}
        return entry

    def _run(self, args):
        entry = self._entry(args)
        try:
            return entry.run(args)
        except CancelledError:
            raise
        except Error as error:
            if entry.written or entry in self.models.values():
                raise
            _log.info("a model for these shapes alone: %s", error)
        return self._entry(args, exact=True).run(args)

    def __call__(self, *args):
        if self.given_up is None and not self.answer.is_empty:
            try:
                return self._run(args)
            except _Unfit as unfit:
                self.give_up(unfit)
        return self.graph_module(*args)


def backend(graph_module, inputs, *, options=None, **others):
    """The backend "tenon" of torch.compile.

    options: threads, plugins, pins, precision as of tenon.load(); most_shapes: for how many shapes
    compiled models are kept (8); fallback: "warn": PyTorch runs what Tenon cannot, with a warning;
    "allow": without; "forbid": that is an error.
    """
    options = dict(options or {})
    options.update({k: v for k, v in others.items() if k in _OPTIONS})
    unknown = sorted(set(options) - _OPTIONS)
    if unknown:
        raise InvalidError(f"backend tenon: no option {', '.join(unknown)}; there are {', '.join(sorted(_OPTIONS))}")
    options.setdefault("threads", torch.get_num_threads())
    compiled = _Compiled(graph_module, inputs, options)
    if torch.is_grad_enabled() and any(
        isinstance(t, torch.Tensor) and t.requires_grad for t in inputs
    ):
        compiled.give_up("gradients are wanted; call it under torch.inference_mode()")
    return compiled


# ---- operators of plug-ins ----

_libraries = {}  # namespace -> torch.library.Library
_plugins = []  # paths, for models that are compiled later
_symbolics = {}  # operator of PyTorch -> what stands for it while a graph is exported
_NAMES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "bool": "bool"}
_NAMES.update({f"i{n}": f"int{n}" for n in (8, 16, 32, 64)}, u8="uint8", c64="complex64")


def _torch_dtype(name):
    if name not in _NAMES:
        raise TypeError(f"PyTorch has no dtype {name}")
    return getattr(torch, _NAMES[name])


def _like(tensor):
    """Something of the type of a tensor that may have no memory."""
    name = str(tensor.dtype).split(".")[1]
    if name == "bfloat16":
        import ml_dtypes

        name = ml_dtypes.bfloat16
    return np.broadcast_to(np.zeros((), name), tuple(int(d) for d in tensor.shape))


def _each(convert, value):
    if isinstance(value, torch.Tensor):
        return convert(value)
    return [_each(convert, v) for v in value] if isinstance(value, (list, tuple)) else value


def _results(values):
    return values[0] if len(values) == 1 else tuple(values)


def _kernel(op):
    def run(*args, **named):
        args = [_each(_to_tenon, a) for a in args]
        answer = op(*args, **{k: _each(_to_tenon, v) for k, v in named.items()})
        return _results([_to_torch(y) for y in (answer if isinstance(answer, tuple) else [answer])])

    return run


def _fake(op):
    def infer(*args, **named):
        args = [_each(_like, a) for a in args]
        types = op.infer(*args, **{k: _each(_like, v) for k, v in named.items()})
        if any(shape is None or None in shape for _, _, shape in types):
            raise NotImplementedError(f"{op.name}: shapes of outputs depend on data")
        return _results([torch.empty(s, dtype=_torch_dtype(d)) for _, d, s in types])

    return infer


def _symbolic(op, schema):
    """The operator as a node that PyTorch's exporter writes as it stands."""
    infer = _fake(op)

    def call(*args, **named):
        given = {a.name: v for a, v in zip(schema.positional, args)}
        given.update(named)
        tensors, attributes = [], {}
        for a in schema.arguments:
            value = given.get(a.name)
            if a.is_tensor:
                tensors += value if isinstance(value, (list, tuple)) else [value]
            elif value is not None:
                attributes[a.name] = value
        answer = infer(*args, **named)
        answer = answer if isinstance(answer, tuple) else (answer,)
        values = torch.onnx.ops.symbolic_multi_out(
            op.name if "::" in op.name else f"ai.onnx::{op.name}",
            tensors,
            attributes,
            dtypes=[y.dtype for y in answer],
            shapes=[y.shape for y in answer],
            version=op._row(0)[2],
        )
        return _results(values)

    return call


def _define(namespace, op, text):
    schema = Schema(text)
    if any(a.is_graph for a in schema.arguments):
        raise TypeError("it takes a graph")
    library = _libraries.setdefault(namespace, torch.library.Library(namespace, "FRAGMENT"))
    library.define(op.__name__ + text)
    library.impl(op.__name__, _kernel(op), "CPU")
    torch.library.register_fake(f"{namespace}::{op.__name__}", _fake(op), lib=library)
    operator = getattr(getattr(torch.ops, namespace), op.__name__)
    _symbolics[operator] = _symbolics[operator.default] = _symbolic(op, schema)
    return operator


def load_operators(plugin, *, threads=0):
    """Makes the operators of a plug-in those of PyTorch: torch.ops.acme.Foo(x, alpha=2), domains
    with '_' for '.'. They run on tensors of the CPU, take fake tensors, and have no gradients.

    Answers {name: operator}; operators that PyTorch's schemas cannot say are left out, with a note
    in the log "tenon.torch".
    """
    path = os.path.realpath(plugin)

    def names_in(runtime):
        return {p["name"] for p in runtime.plugins() if os.path.realpath(p["path"] or "") == path}

    runtime = shared(threads=threads)  # it may be installed
    if not names_in(runtime):
        runtime = shared(threads=threads, plugins=[plugin])
        _plugins.append(path)
    names = names_in(runtime)
    made = {}
    for domain, name, _, text, owner in runtime._ops():
        namespace = (domain or "onnx").replace(".", "_")
        if owner not in names or f"{namespace}::{name}" in made:
            continue
        op = runtime.ops
        for part in [*domain.split("."), name]:
            op = getattr(op, part) if part else op
        try:
            made[f"{namespace}::{name}"] = _define(namespace, op, op.schema())
        except (RuntimeError, TypeError, ValueError) as error:
            _log.info("%s::%s is left out: %s", domain, name, str(error).splitlines()[0])
    return made


if "tenon" not in torch._dynamo.list_backends(None):  # an installed package is an entry point
    torch._dynamo.register_backend(name="tenon", compiler_fn=backend)
