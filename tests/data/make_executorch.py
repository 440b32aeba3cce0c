#!/usr/bin/env python3
"""Writes tests/data/executorch: small programs of ExecuTorch and what its runtime makes of them.

usage: make_executorch.py FOLDER     (needs executorch; the files in the tree were made with 1.5.1)
"""

import pathlib
import sys

import executorch.exir.passes._quant_patterns_and_replacements  # noqa: F401  (operators)
import executorch.kernels.quantized  # noqa: F401
import numpy as np
import torch
from functorch.experimental.control_flow import map
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  (operators)
from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackPartitioner,
)
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.exir import (
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    to_edge,
    to_edge_transform_and_lower,
)
from executorch.runtime import Runtime
from torch._higher_order_ops.scan import scan
from torch.export import Dim, export
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.quantization.granularity import PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

torch.manual_seed(0)


class Linear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 3)

    def forward(self, x):
        return torch.relu(self.fc(x))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)
        self.norm.running_mean.normal_()
        self.norm.running_var.uniform_(0.5, 2)
        self.deep = torch.nn.Conv2d(4, 4, 3, stride=2, padding=1, groups=4)
        self.fc = torch.nn.Linear(4, 5)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        x = torch.nn.functional.hardtanh(self.deep(x), 0.0, 6.0)
        return torch.softmax(self.fc(x.mean((2, 3))), -1)


class Views(torch.nn.Module):
    """Lists of outputs, lists of tensors, layouts, types."""

    def forward(self, x):
        a, b = torch.split(x, 2, 1)
        y = torch.cat([b, a], 1)
        values, indices = torch.max(y, 1)
        turned = torch.relu(y.to(memory_format=torch.channels_last))
        return y.permute(0, 2, 3, 1).reshape(2, -1), values[:, :, 1:], indices.int(), turned


class Flat(torch.nn.Module):
    """Views that are no instructions: they lie where their base lies. One has no elements."""

    def forward(self, x):
        return torch.relu(x).view(2, -1) + 1, torch.relu(x[:, :0]).view(0, 2) + 1


class State(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.zeros(2, 3))

    def forward(self, x):
        self.sum.add_(x)
        return self.sum * 2


class Cond(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: (x * 2).sin(), (x,))


class Open(torch.nn.Module):
    """A size that the run says."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 3)

    def forward(self, x):
        y = self.fc(x)
        return y.reshape(y.shape[0] * 3) + x.shape[0]


class Swapped(torch.nn.Module):
    """Parts whose nodes use the arguments of the call in another order."""

    def forward(self, x, y):
        return torch.relu(y) - x, x.half().clamp(-0.5, 0.5)


class Modes(torch.nn.Module):
    """An overload that is called otherwise with a destination, and results that nobody reads."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.GroupNorm(2, 4)

    def forward(self, x, n):
        return self.norm(x), torch.div(n, 3, rounding_mode="floor"), n // (n - 5)


class Turned(torch.nn.Module):
    """Transposed convolutions, in groups, too; the most of rows and where it is."""

    def __init__(self):
        super().__init__()
        self.whole = torch.nn.ConvTranspose2d(2, 4, 3, stride=2, padding=1, output_padding=1)
        self.groups = torch.nn.ConvTranspose2d(4, 6, (2, 3), groups=2, bias=False)

    def forward(self, x):
        most, place = torch.max(self.groups(torch.relu(self.whole(x))), 3, keepdim=True)
        return most, place


class Rows(torch.nn.Module):
    """Products with rows; the last has no whole blocks of 16."""

    def __init__(self):
        super().__init__()
        self.wide = torch.nn.Linear(64, 36)
        self.last = torch.nn.Linear(36, 3)

    def forward(self, x):
        return self.last(torch.relu(self.wide(x)))


class Groups(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(96, 5)

    def forward(self, x):
        return self.fc(x)


class Codes(torch.nn.Module):
    """Kernels of codes: by tensor, by channel, by row, with what the program chooses, tables."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scales", torch.tensor([0.02, 0.05, 0.1]).double())
        self.register_buffer("zeros", torch.tensor([0, -3, 5]))
        self.register_buffer("bytes", torch.randint(-128, 128, (5, 8), dtype=torch.int8))
        self.register_buffer("halves", torch.randint(0, 256, (5, 4), dtype=torch.uint8))
        self.register_buffer("quarters", torch.randint(0, 256, (5, 2), dtype=torch.uint8))
        self.register_buffer("groups", torch.rand(5, 2))

    def forward(self, x, index):
        ops, whole = torch.ops.quantized_decomposed, (-128, 127, torch.int8)
        a = ops.quantize_per_tensor(x, 0.04, 2, -127, 127, torch.int8)
        b = ops.quantize_per_channel(x, self.scales, self.zeros, 0, *whole)
        scale, zero = ops.choose_qparams.tensor(x, 0, 255, 1e-5, torch.uint8)
        c = ops.quantize_per_tensor.tensor(x, scale, zero, 0, 255, torch.uint8)
        rows = ops.choose_qparams_per_token_asymmetric(x, torch.int8)
        d = ops.quantize_per_token(x, *rows, *whole)
        numbers = (
            ops.dequantize_per_tensor(a, 0.04, 2, *whole),
            ops.dequantize_per_channel(b, self.scales, self.zeros, 0, *whole),
            ops.dequantize_per_tensor.tensor(c, scale, zero, 0, 255, torch.uint8),
            ops.dequantize_per_token(d, *rows, *whole, torch.float32),
        )
        tables = (
            ops.embedding_byte(self.bytes, self.groups, None, -128, 127, index),
            ops.embedding_4bit(self.halves, self.groups, None, -8, 7, index),
            ops.embedding_2bit(self.quarters, self.groups[:, 0].clone(), None, -2, 1, index),
        )
        e = ops.quantize_per_tensor(x, 0.05, 120, 0, 255, torch.uint8)
        sums = ops.add(e, 0.05, 120, 0, 255, c, 0.04, 99, 0, 255, 0.1, 128, 0, 255)
        return a, b, c, d, *numbers, *tables, sums


@torch.library.register_fake("quantized_decomposed::add")
def _(a, *rest):
    return torch.empty_like(a)


class Caches(torch.nn.Module):
    """Attention to what earlier runs have left, from a place on that is given."""

    def __init__(self):
        super().__init__()
        for name in "keys", "values", "old_keys", "old_values", "ring":
            self.register_buffer(name, torch.zeros(1, 6, 2, 4))

    def forward(self, q, k, v, place):
        llama, start = torch.ops.llama, place[0].item()
        torch._check(start >= 0)
        torch._check(start < 6 - q.shape[1])
        llama.update_cache(k, self.keys, start)
        llama.update_cache(v, self.values, start)
        llama.update_cache_with_indices(v, self.ring, start, (5 - place)[None])
        new = llama.custom_sdpa(q, self.keys, self.values, start, None, 0.0, True)
        old = llama.sdpa_with_kv_cache(
            q, k, v, self.old_keys, self.old_values, start, 1, None, 0.0, True
        )
        return new, old, self.ring + 1


class Attention(torch.nn.Module):
    """With a mask, without causality, to codes with scales for each row; Hadamard's transform."""

    def forward(self, q, k, v, mask):
        ops, codes = torch.ops.quantized_decomposed, (-128, 127, torch.int8)
        rows = [ops.choose_qparams_per_token_asymmetric(x, torch.int8) for x in (q, k, v)]
        coded = [ops.quantize_per_token(x, *r, *codes) for x, r in zip((q, k, v), rows)]
        scales = [y for s, z in rows for y in (z.to(torch.int8), s.float())]
        heads_first = [x.transpose(1, 2).contiguous() for x in (*coded, *scales)]
        llama = torch.ops.llama
        return (
            llama.custom_sdpa(q, k, v, 0, mask, 0.0, False),
            llama.custom_sdpa(q, k, v, 1, None, 0.0, False, 0.3),
            llama.custom_quantized_sdpa(*coded, 2, None, 0.0, True, None, *scales),
            llama.custom_quantized_sdpa(
                *heads_first[:3], 0, mask, 0.0, False, None, *heads_first[3:], True
            ),
            llama.fast_hadamard_transform(q),
            llama.fast_hadamard_transform(k.reshape(2, 1, -1)[:, :, :32].repeat(1, 1, 8)),
        )


class Loops(torch.nn.Module):
    """Jumps back: what map and scan stack, and what they carry."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)

    def forward(self, x, y, n):
        def step(carried, part):
            state, sums = carried
            return [torch.tanh(self.fc(state + part)), sums + state], [state.clone(), part.sum()]

        carried, stacked = scan(step, [y, y.clone()], x)
        return map(lambda a, b: torch.sin(a) * b, x, y) + 1, *carried, *stacked, n * 2


def quantised(module, inputs, **how):
    """As the quantizer of XNNPACK does it."""
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(**how))
    prepared = prepare_pt2e(export(module.eval(), inputs).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def grouped(module, size):
    """Weights of 4 bits with a scale for so many of a row."""
    how = Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=PerGroup(size)
    )
    quantize_(module, how)
    return module


def write(
    path, name, module, inputs, dynamic=None, xnnpack=False, parts=XnnpackPartitioner, beside=False
):
    """inputs: a list, each a tuple: runs of one method, one after the other. beside: with its
    weights in a file of their own."""
    case = path / name
    (case / "ref").mkdir(parents=True, exist_ok=True)
    is_made = isinstance(module, torch.fx.GraphModule)  # such have no modes
    exported = export(module if is_made else module.eval(), inputs[0], dynamic_shapes=dynamic)
    if xnnpack:
        edge = to_edge_transform_and_lower(exported, partitioner=[parts()])
    else:
        edge = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    program = edge.to_executorch(ExecutorchBackendConfig(external_constants=beside))
    (case / "model.pte").write_bytes(program.buffer)
    weights = None
    if beside:
        program.write_tensor_data_to_file(str(case))
        weights = (case / "_default_external_constant.ptd").rename(case / "model.ptd")
    program = Runtime.get().load_program(case / "model.pte", data_path=weights)
    method = program.load_method("forward")
    for k, run in enumerate(inputs):
        for i, x in enumerate(run):
            np.save(case / f"ref/set{k}_in{i}.npy", x.numpy())
        for i, y in enumerate(method.execute(run)):
            np.save(case / f"ref/set{k}_out{i}.npy", y.numpy())


def main():
    path = pathlib.Path(sys.argv[1])
    x = [torch.randn(2, 4) for _ in range(2)]
    write(path, "linear", Linear(), [(x[0],), (x[1],)])
    image = torch.randn(2, 3, 6, 6)
    write(path, "net", Net(), [(image,)])
    write(path, "views", Views(), [(torch.randn(2, 4, 3, 3),)])
    steps = [(torch.randn(2, 3),) for _ in range(3)]
    write(path, "state", State(), steps)
    write(path, "cond", Cond(), [(torch.ones(2, 3),), (-torch.ones(2, 3),)])
    sizes = {"x": {0: Dim("n", min=1, max=9)}}
    write(path, "open", Open(), [(torch.randn(3, 4),), (torch.randn(5, 4),)], sizes)
    write(path, "flat", Flat(), [(torch.randn(2, 3, 2),)])
    write(path, "xnnpack", Net(), [(image,)], xnnpack=True)
    write(path, "swapped", Swapped(), [(torch.randn(2, 3), torch.randn(2, 3))], xnnpack=True)
    write(path, "modes", Modes(), [(torch.randn(2, 4, 3), torch.tensor([7, -7, 9]))])
    write(path, "turned", Turned(), [(torch.randn(2, 2, 3, 4),)], xnnpack=True)
    index = torch.tensor([[4, 0], [2, 2]])
    write(path, "codes", Codes(), [(torch.randn(3, 8) * 3, index)])
    rows = torch.randn(3, 64)
    for name, bits in ("dynamic", {}), ("dynamic4", {"weight_qmin": -8, "weight_qmax": 7}):
        made = quantised(Rows(), (rows,), is_per_channel=True, is_dynamic=True, **bits)
        of_rows = XnnpackDynamicallyQuantizedPartitioner
        write(path, name, made, [(rows,)], xnnpack=True, parts=of_rows)
    made = grouped(Groups(), 96)
    write(path, "groups4", made, [(torch.randn(2, 96),)], xnnpack=True, parts=of_rows)
    one = [torch.randn(1, 1, n, 4) for n in (4, 2, 2)]
    write(path, "caches", Caches(), [(*one, torch.tensor([k])) for k in (0, 1, 4)])
    q, k, v = (torch.randn(2, *n, 4) for n in ((3, 4), (5, 2), (5, 2)))
    write(path, "attention", Attention(), [(q, k, v, torch.randn(3, 5))])
    steps = [(torch.randn(4, 3), torch.randn(3), torch.randn(2)) for _ in range(2)]
    write(path, "loops", Loops(), steps)
    write(path, "beside", Net(), [(image,)], beside=True)


if __name__ == "__main__":
    main()
