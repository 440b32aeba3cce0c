"""A small writer of ONNX graphs: values are names, weights are drawn from one seeded generator.

Nets write the operators that exporters write: batch normalisation folded into convolutions where
PyTorch's exporter folds it, layer normalisation and GELU as chains of primitive operators where older
exporters write them so. Weights are random (He et al. 2015), so that activations neither vanish nor
overflow; speed does not depend on them.
"""
import numpy as np
from onnx import TensorProto, helper, numpy_helper


class Net:
    def __init__(self, name, opset=17, seed=1):
        self.name, self.opset = name, opset
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []
        self.shapes = {}  # of values whose shape the writer of a net asked for
        self.count = 0

    # ---- values ----

    def fresh(self, hint):
        self.count += 1
        return f"{hint}_{self.count}"

    def input(self, name, shape, dtype=np.float32):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, value, name, shape=None, kind=TensorProto.FLOAT):
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def const(self, array, hint="c"):
        name = self.fresh(hint)
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def ints(self, *values):
        return self.const(np.array(values, np.int64), "ints")

    def scalar(self, value):
        return self.const(np.array(value, np.float32), "scalar")

    def weight(self, *shape, fan_in=None, gain=2.0):
        fan_in = fan_in or int(np.prod(shape[1:]))
        scale = np.sqrt(gain / fan_in)
        return self.const((self.rng.standard_normal(shape) * scale).astype(np.float32), "w")

    def bias(self, n):
        return self.const((self.rng.standard_normal(n) * 0.01).astype(np.float32), "b")

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [self.fresh(kind.lower()) for _ in range(outputs)]
        self.nodes.append(
            helper.make_node(kind, list(inputs), names, name=names[0], **attributes)
        )
        return names[0] if outputs == 1 else names

    # ---- layers ----

    def conv(self, x, n_in, n_out, k, stride=1, pad=None, group=1, dilation=1, act=None, gain=2.0):
        kh, kw = (k, k) if isinstance(k, int) else k
        ph, pw = ((kh - 1) // 2 * dilation, (kw - 1) // 2 * dilation) if pad is None else (
            (pad, pad) if isinstance(pad, int) else pad)
        w = self.weight(n_out, n_in // group, kh, kw, gain=gain)
        x = self.op("Conv", x, w, self.bias(n_out), kernel_shape=[kh, kw], strides=[stride, stride],
                    pads=[ph, pw, ph, pw], group=group, dilations=[dilation, dilation])
        return self.act(x, act)

    def act(self, x, kind):
        if kind is None:
            return x
        if kind == "relu":
            return self.op("Relu", x)
        if kind == "relu6":
            return self.op("Clip", x, self.scalar(0.0), self.scalar(6.0))
        if kind == "hswish":
            return self.op("HardSwish", x)
        if kind == "hsigmoid":
            return self.op("HardSigmoid", x, alpha=1 / 6, beta=0.5)
        if kind == "silu":
            return self.op("Mul", x, self.op("Sigmoid", x))
        if kind == "leaky":
            return self.op("LeakyRelu", x, alpha=0.1)
        raise ValueError(kind)

    def batch_norm(self, x, n):
        ones = self.const(self.rng.uniform(0.8, 1.2, n).astype(np.float32), "gamma")
        var = self.const(self.rng.uniform(0.8, 1.2, n).astype(np.float32), "var")
        return self.op("BatchNormalization", x, ones, self.bias(n), self.bias(n), var)

    def max_pool(self, x, k, stride, pad=0, ceil=0):
        return self.op("MaxPool", x, kernel_shape=[k, k], strides=[stride, stride],
                       pads=[pad] * 4, ceil_mode=ceil)

    def avg_pool(self, x, k, stride, pad=0):
        return self.op("AveragePool", x, kernel_shape=[k, k], strides=[stride, stride],
                       pads=[pad] * 4, count_include_pad=1)

    def linear(self, x, n_in, n_out, act=None, gain=2.0):
        """Of a matrix, as exporters write torch.nn.Linear: Gemm with transposed weights."""
        x = self.op("Gemm", x, self.weight(n_out, n_in, gain=gain), self.bias(n_out), transB=1)
        return self.act(x, act)

    def dense(self, x, n_in, n_out, gain=1.0):
        """Of a tensor of any rank: MatMul and Add."""
        w = self.const((self.rng.standard_normal((n_in, n_out)) * np.sqrt(gain / n_in)).astype(np.float32), "w")
        return self.op("Add", self.op("MatMul", x, w), self.bias(n_out))

    def classifier(self, x, n_in, n_classes=1000):
        x = self.op("Flatten", self.op("GlobalAveragePool", x), axis=1)
        return self.linear(x, n_in, n_classes, gain=1.0)

    def squeeze_excite(self, x, n, n_mid, inner="relu", gate="hsigmoid"):
        s = self.op("GlobalAveragePool", x)
        s = self.conv(s, n, n_mid, 1, act=inner)
        s = self.conv(s, n_mid, n, 1)
        s = self.op("Sigmoid", s) if gate == "sigmoid" else self.act(s, gate)
        return self.op("Mul", x, s)

    def layer_norm(self, x, n, primitive=False, epsilon=1e-5):
        gamma = self.const(self.rng.uniform(0.8, 1.2, n).astype(np.float32), "gamma")
        beta = self.bias(n)
        if not primitive:
            return self.op("LayerNormalization", x, gamma, beta, axis=-1, epsilon=epsilon)
        mean = self.op("ReduceMean", x, axes=[-1])
        centred = self.op("Sub", x, mean)
        var = self.op("ReduceMean", self.op("Pow", centred, self.scalar(2.0)), axes=[-1])
        deviation = self.op("Sqrt", self.op("Add", var, self.scalar(epsilon)))
        return self.op("Add", self.op("Mul", self.op("Div", centred, deviation), gamma), beta)

    def gelu(self, x):
        e = self.op("Erf", self.op("Div", x, self.scalar(np.sqrt(2.0))))
        y = self.op("Mul", x, self.op("Add", e, self.scalar(1.0)))
        return self.op("Mul", y, self.scalar(0.5))

    def gelu_tanh(self, x):
        cube = self.op("Pow", x, self.scalar(3.0))
        inner = self.op("Add", x, self.op("Mul", cube, self.scalar(0.044715)))
        t = self.op("Tanh", self.op("Mul", inner, self.scalar(np.sqrt(2 / np.pi))))
        half = self.op("Mul", x, self.scalar(0.5))
        return self.op("Mul", half, self.op("Add", t, self.scalar(1.0)))

    def heads(self, x, batch, length, n_heads, width, order):
        x = self.op("Reshape", x, self.ints(batch, length, n_heads, width))
        return self.op("Transpose", x, perm=order)

    # ---- the model ----

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.constants)
        return helper.make_model(graph, producer_name="tenon-bench", ir_version=8,
                                 opset_imports=[helper.make_opsetid("", self.opset)])
