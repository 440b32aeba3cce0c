"""PyTorch: torch.compile(model, backend="tenon"), and operators of plug-ins as torch.ops.

A captured graph goes through torch.export and PyTorch's exporter of ONNX (the package onnxscript)
to Tenon, once for each set of input shapes. Parameters and buffers of modules become constants,
which kernels prepare; when one of them is changed, the graph is compiled anew.
"""

import copy
import logging
import os
import threading
import warnings

import numpy as np
import torch
from torch.utils import _pytree as pytree

from ._errors import Error, InvalidError
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
    if tensor.device.type != "cpu":
        raise _Unfit(f"an input lies on {tensor.device}")
    return tensor.detach().resolve_conj().resolve_neg().contiguous()


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


def _stamp(tensor):
    """Differs when the tensor is another one, or was written to."""
    return tensor.data_ptr(), tensor._version


def _storage(node):
    """Which memory a value of the graph lies in."""
    value = node.meta.get("example_value") if isinstance(node, torch.fx.Node) else None
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return None
    return value.untyped_storage()._cdata


class _Answer:
    """The outputs of a graph: which of its leaves are tensors, and what the others are."""

    def __init__(self, graph_module):
        nodes = list(graph_module.graph.nodes)
        placeholders = [n for n in nodes if n.op == "placeholder"]
        output = next(n for n in nodes if n.op == "output")
        self.leaves, self.spec = pytree.tree_flatten(output.args[0])
        self.inputs = {}  # leaves that are numbers the graph was given
        given = {_storage(p) for p in placeholders} - {None}
        if any(_storage(leaf) in given for leaf in self.leaves):
            raise _Unfit("an output is a view of an input")
        for k, leaf in enumerate(self.leaves):
            value = leaf.meta.get("example_value") if isinstance(leaf, torch.fx.Node) else leaf
            if not isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
                continue
            if leaf not in placeholders:
                raise _Unfit("the graph answers numbers that depend on shapes")
            self.inputs[k] = placeholders.index(leaf)

    def _is_tensor(self, k):
        return isinstance(self.leaves[k], torch.fx.Node) and k not in self.inputs

    def of(self, tensors, args):
        left = iter(tensors)
        leaves = [
            next(left) if self._is_tensor(k) else args[self.inputs[k]] if k in self.inputs else leaf
            for k, leaf in enumerate(self.leaves)
        ]
        return pytree.tree_unflatten(leaves, self.spec)

    def tensors(self, answer):
        leaves = pytree.tree_leaves(answer, is_leaf=lambda x: x is None)
        return tuple(v for k, v in enumerate(leaves) if self._is_tensor(k))


class _Frozen(torch.nn.Module):
    """The graph as a function of what changes; the rest is constant."""

    def __init__(self, graph_module, answer, args, fixed):
        super().__init__()
        self.inner, self.answer, self.n = graph_module, answer, len(args)
        self.places = {}
        for k, value in enumerate(args):
            if k in fixed:
                self.register_buffer(f"constant{k}", value.detach())
            elif not isinstance(value, torch.Tensor):
                self.places[k] = value

    def forward(self, *changing):
        left = iter(changing)
        args = []
        for k in range(self.n):
            fixed = getattr(self, f"constant{k}", None)
            args.append(
                fixed if fixed is not None else self.places[k] if k in self.places else next(left)
            )
        return self.answer.tensors(self.inner(*args))


def _cause(error):
    while error.__cause__ is not None:
        error = error.__cause__
    return (str(error).strip() or type(error).__name__).splitlines()[0]


# ---- layers that PyTorch fuses before it captures a graph, and its exporter does not know ----


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


def _exportable(graph_module):
    """The same with what the exporter knows in place of what it does not."""
    others = {torch._transformer_encoder_layer_fwd: _encoder_layer, **_symbolics}
    if not any(n.op == "call_function" and n.target in others for n in graph_module.graph.nodes):
        return graph_module
    graph_module = copy.copy(graph_module)
    graph_module.graph = copy.deepcopy(graph_module.graph)
    for node in graph_module.graph.nodes:
        if node.op == "call_function" and node.target in others:
            node.target = others[node.target]
    graph_module.recompile()
    return graph_module


def _exported(module, args):
    program = torch.export.export(module, args).run_decompositions({})  # writes become outputs
    signature = program.graph_signature
    written = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
    if written:
        raise _Unfit(f"the graph writes to its inputs or buffers ({', '.join(written)})")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proto = torch.onnx.export(program, (), dynamo=True, verbose=False).model_proto
    return proto


class _Compiled:
    """A captured graph: called with its inputs, it runs the model for their shapes."""

    def __init__(self, graph_module, inputs, options):
        self.graph_module = graph_module
        placeholders = [n for n in graph_module.graph.nodes if n.op == "placeholder"]
        self.fixed = [
            k
            for k, (p, v) in enumerate(zip(placeholders, inputs))
            if isinstance(v, torch.Tensor) and _is_of_module(p, v) and not v.is_inference()
        ]
        self.options = options
        self.fallback = options.pop("fallback", "warn")
        self.most = options.pop("most_shapes", 8)
        if self.fallback not in ("forbid", "warn", "allow"):
            raise InvalidError(f"fallback is forbid, warn or allow, not {self.fallback!r}")
        self.models, self.stamps, self.lock = {}, None, threading.Lock()
        self.given_up = None

    def give_up(self, reason):
        text = f"tenon cannot run a part of the model: {reason}"
        if self.fallback == "forbid":
            raise Error(text)
        if self.fallback == "warn" and self.given_up is None:
            warnings.warn(f"{text}; PyTorch runs it", stacklevel=3)
        _log.info("%s", text)
        self.given_up = text

    def _key(self, args):
        fixed = set(self.fixed)
        return tuple(
            (a.shape, a.dtype) if isinstance(a, torch.Tensor) else a
            for k, a in enumerate(args)
            if k not in fixed
        )

    def _compile(self, args):
        answer = _Answer(self.graph_module)
        module = _Frozen(_exportable(self.graph_module), answer, args, set(self.fixed))
        changing = self._changing(args)
        if any(t.requires_grad for t in changing) and torch.is_grad_enabled():
            raise _Unfit("gradients are wanted; call it under torch.inference_mode()")
        try:
            with _EXPORTS, torch.no_grad():
                proto = _exported(module, changing)
        except _Unfit:
            raise
        except Exception as error:  # whatever the exporter stumbles over
            raise _Unfit(f"PyTorch's exporter fails: {_cause(error)}") from error
        try:
            options = dict(self.options)
            options["plugins"] = [*options.get("plugins", ()), *_plugins]
            model = load(proto, **options)
        except Error as error:
            raise _Unfit(str(error)) from error
        return model, answer, len(model.inputs)

    def _changing(self, args):
        fixed = set(self.fixed)
        tensors = [(k, a) for k, a in enumerate(args) if isinstance(a, torch.Tensor)]
        return tuple(_to_tenon(a) for k, a in tensors if k not in fixed)

    def _entry(self, args):
        stamps = [_stamp(args[k]) for k in self.fixed]
        key = self._key(args)
        with self.lock:
            if stamps != self.stamps:
                self.models, self.stamps = {}, stamps
            entry = self.models.get(key)
            if entry is None:
                entry = self._compile(args)
                while len(self.models) >= self.most:
                    self.models.pop(next(iter(self.models)))
                self.models[key] = entry
        return entry

    def __call__(self, *args):
        if self.given_up is None:
            try:
                model, answer, n = self._entry(args)
                changing = self._changing(args)
                outputs = model(*changing[:n])
                outputs = outputs if isinstance(outputs, tuple) else (outputs,)
                return answer.of([_to_torch(o) for o in outputs], args)
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
