"""The interface of onnx.backend: `onnx.backend.test.BackendTest(tenon.onnx_backend, ...)` runs
ONNX's own tests against Tenon. Needs the package onnx."""

import onnx
from onnx.backend.base import Backend, BackendRep

from ._model import load
from ._ops import default_runtime


class TenonRep(BackendRep):
    """A prepared model."""

    def __init__(self, model):
        self.model = model

    def run(self, inputs, **kwargs):
        """A list of the outputs; inputs: a list in the model's order, one array, or a dict."""
        if isinstance(inputs, dict):
            return self.model._run_list(None, inputs)
        inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        names = [v.name for v in self.model.inputs]
        return self.model._run_list(None, dict(zip(names, inputs)))


class TenonBackend(Backend):
    """Models and nodes of ONNX, on the CPU."""

    @classmethod
    def supports_device(cls, device):
        return device == "CPU"

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        try:
            cls.prepare(model, device, **kwargs)
        except RuntimeError:
            return False
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        return TenonRep(load(model, runtime=default_runtime()))

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        def value(name):
            return onnx.helper.make_empty_tensor_value_info(name)

        graph = onnx.helper.make_graph(
            [node],
            "node",
            [value(n) for n in node.input if n],
            [value(n) for n in node.output if n],
        )
        imports = kwargs.get("opset_imports") or [
            onnx.helper.make_opsetid("", onnx.defs.onnx_opset_version())
        ]
        model = onnx.helper.make_model(graph, opset_imports=imports)
        return cls.run_model(model, inputs, device)


prepare = TenonBackend.prepare
run_model = TenonBackend.run_model
run_node = TenonBackend.run_node
supports_device = TenonBackend.supports_device
is_compatible = TenonBackend.is_compatible
