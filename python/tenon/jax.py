"""JAX: operators of Tenon and its plug-ins as functions of arrays, also under jax.jit, on the CPU.

    import tenon.jax
    tenon.jax.load_plugin("acme.so")
    y = tenon.jax.call("acme::Foo", x, alpha=2)
"""

import os

import jax
import numpy as np

from . import _tenon
from ._ops import Ops, _text
from ._runtime import Runtime

_LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "tenon_jax.so")
_CAPSULE = "xla._CUSTOM_CALL_TARGET"  # as XLA calls its own
_runtime = Runtime(threads=1)  # says types; the library has one of its own, which runs
_DTYPES = {
    **{f"{kind}{8 * n}": f"{kind}{n}" for kind in "fiu" for n in (1, 2, 4, 8)},
    "bool": "?", "c64": "c8", "c128": "c16", "bf16": jax.numpy.bfloat16,
}  # fmt: skip

jax.ffi.register_ffi_target(
    "tenon", _tenon.adapter_function(_LIBRARY, "tenon_jax_run", _CAPSULE), platform="cpu"
)


def load_plugin(path):
    """Loads a plug-in, whose operators call() knows from then on."""
    path = os.path.abspath(path)
    _runtime.add(path)
    _tenon.adapter_load_plugin(_LIBRARY, "tenon_jax_load_plugin", path)


def _find(name):
    found = Ops(lambda: _runtime)
    domain, _, last = name.rpartition("::")
    for part in [*filter(None, domain.split(".")), last]:
        found = getattr(found, part)
    return found


def _result(op, kind, dtype, shape):
    if kind != "tensor" or dtype not in _DTYPES:
        raise TypeError(f"{op.name}: answers {kind} of {dtype}, which JAX has no arrays of")
    if shape is None or None in shape:
        raise TypeError(f"{op.name}: the shape of its output depends on data")
    result = jax.ShapeDtypeStruct(shape, np.dtype(_DTYPES[dtype]))
    if jax.dtypes.canonicalize_dtype(result.dtype) != result.dtype:
        raise TypeError(f"{op.name}: answers {dtype}, which JAX has with jax_enable_x64 only")
    return result


def call(name, *inputs, n_outputs=None, **attributes):
    """Runs an operator, "acme::Foo", on its inputs in order; attributes are static.

    Answers an array, or a tuple of them. It can be traced; it has no derivatives, and jax.vmap calls
    it once for each element. n_outputs: how many are wanted; None: all that are not optional.
    """
    op = _find(name)
    inputs = [jax.numpy.asarray(x) for x in inputs]
    like = [np.broadcast_to(np.zeros((), x.dtype), x.shape) for x in inputs]
    types = op.infer(*like, n_outputs=n_outputs, **attributes)
    results = tuple(_result(op, *t) for t in types)
    text = "; ".join(f"{key}={_text(value)}" for key, value in attributes.items())
    run = jax.ffi.ffi_call("tenon", results, vmap_method="sequential")
    answers = run(*inputs, op=op.name, attributes=text)
    return answers[0] if len(answers) == 1 else tuple(answers)
