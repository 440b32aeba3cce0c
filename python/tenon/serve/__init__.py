"""Models in servers of other projects: MLServer, KServe, Ray. There is no server here.

tenon.serve.mlserver.TenonModel and tenon.serve.kserve.TenonModel speak the Open Inference Protocol,
by REST and gRPC, as their servers do. Ray needs Predictor alone:

    dataset.map_batches(tenon.serve.Predictor, fn_constructor_args=["model.onnx"], concurrency=4)
"""

import struct

import numpy as np

from .. import Error, Runtime, load

# The protocol's names of element types. Narrow floats have no arrays in JSON: they travel as FP32.
DATATYPES = {
    "bool": "BOOL", "string": "BYTES", "f16": "FP16", "f32": "FP32", "f64": "FP64", "bf16": "FP32",
    **{f"u{n}": f"UINT{n}" for n in (8, 16, 32, 64)},
    **{f"i{n}": f"INT{n}" for n in (8, 16, 32, 64)},
}  # fmt: skip


def open_model(path, *, threads=1, plugins=(), pins=(), weight_cache=None, **options):
    """A model as servers want it: a run computes on one thread, and many run at once.

    weight_cache: a folder where prepared weights are kept. Workers that name the same one map them,
    so that these are in memory once; without it each prepares its own. The rest is tenon.load's.
    """
    runtime = Runtime(threads=threads, plugins=plugins, pins=pins)
    if weight_cache:
        runtime.cache_weights(weight_cache)
        session = load(path, runtime=runtime, **options).session()
        session.assume_inputs()
        session.prepare()  # writes what is not there yet, to be mapped by whoever comes next
        del session
    return load(path, runtime=runtime, **options)


class Predictor:
    """A model that is called with a batch, {"x": array, ...}, and answers it with its outputs added.

    Columns that the model does not know stay as they are. Pickled, it is the model's path and the
    options of open_model: each worker loads the file for itself. Any number of threads may call it
    at once.
    """

    def __init__(self, path, **options):
        self._path, self._options = path, options
        self.model = open_model(path, **options)
        self._inputs = [v.name for v in self.model.inputs]

    def __reduce__(self):
        return _again, (self._path, self._options)

    def __call__(self, batch):
        if not isinstance(batch, dict):
            raise TypeError(f"a batch is a dict of columns, not {type(batch)}")
        given = {name: np.ascontiguousarray(batch[name]) for name in self._inputs if name in batch}
        return {**batch, **self.model.run(given)}


def _again(path, options):
    return Predictor(path, **options)


def describe(values):
    """Name, datatype and shape of inputs or outputs, as the protocol has them: -1 is an open dim."""
    for v in values:
        shape = [d if isinstance(d, int) else -1 for d in v.shape or ()]
        yield v.name, DATATYPES.get(v.dtype, "BYTES"), shape


# Of what a request brings; the last is KServe's where a text is shorter than it says.
REFUSALS = (Error, KeyError, OverflowError, TypeError, ValueError, struct.error)


def take(tensors, array):
    """{name: array} of a request's inputs; array makes one of a tensor."""
    given = {}
    for tensor in tensors:
        if tensor.name in given:
            raise ValueError(f"input '{tensor.name}' is given twice")
        if any(size < 0 for size in tensor.shape):
            raise ValueError(f"input '{tensor.name}': its shape is {list(tensor.shape)}")
        try:
            given[tensor.name] = array(tensor)
        except REFUSALS as e:
            raise ValueError(f"input '{tensor.name}': {e.args[0] if e.args else e}") from e
    return given


def choose(outputs, wanted):
    """The outputs that a request asks for, in its order; all of them if it asks for none.

    Those of types that the protocol has no arrays of become f32.
    """
    missing = [name for name in wanted if name not in outputs]
    if missing:
        raise KeyError(f"the model has no output '{missing[0]}'; it has {', '.join(outputs)}")
    for name in wanted or outputs:
        value = outputs[name]
        if not isinstance(value, np.ndarray):
            raise TypeError(f"output '{name}' is no tensor, which is all that the protocol knows")
        yield name, value if value.dtype.kind in "biufOSU" else value.astype(np.float32)
