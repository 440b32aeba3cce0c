#!/usr/bin/env python3
"""Random Caffe networks with odd options: what Tenon answers against OpenCV, the last of 4.x that
reads them (pip install opencv-python-headless==4.10.0.84). Run by hand:
    tests/caffe/generated.py TENON FOLDER [--n N] [--seed S]
FOLDER gets the networks that do not agree; counts go to standard output."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess

import cv2
import numpy as np


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def blob(x):
    dims = b"".join(varint(n) for n in x.shape)
    return field(7, field(1, dims)) + field(5, x.astype("<f4").tobytes())


class Net:
    def __init__(self, seed):
        self.r = np.random.RandomState(seed)
        self.text, self.model, self.n = "", b"", 0
        self.live = []

    def pick(self, *options):
        return options[self.r.randint(len(options))]

    def number(self, lo, hi):
        return int(self.r.randint(lo, hi + 1))

    def values(self, *shape, lo=-1, hi=1):
        return self.r.uniform(lo, hi, shape)

    def layer(self, kind, bottoms, param="", blobs=(), tops=1):
        name = f"l{self.n}"
        names = [name if tops == 1 else f"{name}_{k}" for k in range(tops)]
        self.n += 1
        lines = "".join(f' bottom: "{b}"' for b in bottoms) + "".join(f' top: "{t}"' for t in names)
        self.text += f'layer {{ name: "{name}" type: "{kind}"{lines} {param} }}\n'
        if blobs:
            data = field(1, name.encode()) + field(2, kind.encode())
            self.model += field(100, data + b"".join(field(7, blob(b)) for b in blobs))
        return names if tops > 1 else name


def out_of(n, kernel, stride, pad, dilation=1, ceil=False):
    span = n + 2 * pad - (dilation * (kernel - 1) + 1)
    if span < 0:
        return 0
    out = (-(-span // stride) if ceil else span // stride) + 1
    return out - 1 if ceil and pad and (out - 1) * stride >= n + pad else out


def convolution(net, x, shape):
    group = net.pick(1, 1, 2, shape[1])
    if shape[1] % group:
        group = 1
    filters = group * net.number(1, 4)
    kernel, stride = [net.number(1, 3), net.number(1, 3)], [net.number(1, 2), net.number(1, 2)]
    pad, dilation = [net.number(0, 1), net.number(0, 1)], net.pick(1, 1, 2)
    out = [out_of(n, k, s, p, dilation) for n, k, s, p in zip(shape[2:], kernel, stride, pad)]
    if min(out) < 1:
        return None
    bias = net.pick(True, False)
    param = (
        f"convolution_param {{ num_output: {filters} group: {group} bias_term: {str(bias).lower()}"
        f" kernel_h: {kernel[0]} kernel_w: {kernel[1]} stride_h: {stride[0]} stride_w: {stride[1]}"
        f" pad_h: {pad[0]} pad_w: {pad[1]} dilation: {dilation} }}"
    )
    blobs = [net.values(filters, shape[1] // group, *kernel)] + [net.values(filters)] * bias
    kind = "ConvolutionDepthwise" if group == shape[1] and net.pick(0, 1) else "Convolution"
    return net.layer(kind, [x], param, blobs), [shape[0], filters, *out]


def deconvolution(net, x, shape):
    filters, kernel, stride, pad = (
        net.number(1, 4),
        net.number(2, 4),  # of 1 with a pad, OpenCV's answer is another one than Caffe's
        net.number(1, 3),
        net.number(0, 1),
    )
    out = [(n - 1) * stride + kernel - 2 * pad for n in shape[2:]]
    if min(out) < 1 or max(out) > 24:
        return None
    param = (
        f"convolution_param {{ num_output: {filters} kernel_size: {kernel} stride: {stride}"
        f" pad: {pad} }}"
    )
    blobs = [net.values(shape[1], filters, kernel, kernel), net.values(filters)]
    return net.layer("Deconvolution", [x], param, blobs), [shape[0], filters, *out]


def pooling(net, x, shape):
    kind = net.pick("MAX", "AVE")
    if net.pick(0, 0, 1):
        layer = net.layer("Pooling", [x], f"pooling_param {{ pool: {kind} global_pooling: true }}")
        return layer, [*shape[:2], 1, 1]
    kernel, stride = [net.number(2, 3), net.number(2, 3)], [net.number(1, 3), net.number(1, 3)]
    pad = net.number(0, 1)
    out = [out_of(n, k, s, pad, ceil=True) for n, k, s in zip(shape[2:], kernel, stride)]
    outside = any((o - 1) * s >= n + pad for o, s, n in zip(out, stride, shape[2:]))
    if min(out) < 1 or outside or min(n + 2 * pad - k for n, k in zip(shape[2:], kernel)) < 0:
        return None
    param = (
        f"pooling_param {{ pool: {kind} kernel_h: {kernel[0]} kernel_w: {kernel[1]}"
        f" stride_h: {stride[0]} stride_w: {stride[1]} pad: {pad} }}"
    )
    return net.layer("Pooling", [x], param), [*shape[:2], *out]


def normalised(net, x, shape):
    c = shape[1]
    factor = net.pick(1.0, 0.5, 999.0)
    blobs = [net.values(c) * factor, net.values(c, lo=0.3, hi=2) * factor, np.array([factor])]
    x = net.layer("BatchNorm", [x], net.pick("", "batch_norm_param { eps: 0.01 }"), blobs)
    bias = net.pick(True, False)
    param = f"scale_param {{ bias_term: {str(bias).lower()} }}"
    return net.layer("Scale", [x], param, [net.values(c)] + [net.values(c)] * bias), shape


def pointwise(net, x, shape):
    kind = net.pick(
        *("ReLU", "ReLU6", "Leaky", "PReLU", "ELU", "Sigmoid", "TanH", "AbsVal", "Power"),
        *("BNLL", "Exp"),
    )
    if kind == "Leaky":
        return net.layer("ReLU", [x], "relu_param { negative_slope: 0.2 }"), shape
    if kind == "PReLU":
        shared = net.pick(True, False)
        slopes = net.values(1 if shared else shape[1])
        return (
            net.layer(
                kind, [x], f"prelu_param {{ channel_shared: {str(shared).lower()} }}", [slopes]
            ),
            shape,
        )
    if kind == "Power":
        return (
            net.layer(
                kind,
                [x],
                f"power_param {{ scale: {net.pick(0.5, -2)} shift: 0.25 power: {net.pick(1, 2)} }}",
            ),
            shape,
        )
    if kind == "ELU":
        return net.layer(kind, [x], "elu_param { alpha: 0.7 }"), shape
    if kind == "Exp":
        x = net.layer("TanH", [x])
        return net.layer(kind, [x], "exp_param { scale: 0.5 shift: 0.1 }"), shape
    return net.layer(kind, [x]), shape


def sums(net, x, shape):
    others = [v for v, s in net.live if s == shape]
    other = others[net.r.randint(len(others))]
    how = net.pick("SUM", "PROD", "MAX", "COEFF")
    param = "operation: SUM coeff: 0.5 coeff: -2" if how == "COEFF" else f"operation: {how}"
    return net.layer("Eltwise", [x, other], f"eltwise_param {{ {param} }}"), shape


def joins(net, x, shape):
    others = [(v, s) for v, s in net.live if s[0] == shape[0] and s[2:] == shape[2:]]
    other, s = others[net.r.randint(len(others))]
    return net.layer("Concat", [x, other]), [shape[0], shape[1] + s[1], *shape[2:]]


def parts(net, x, shape):
    if shape[1] < 2:
        return None
    at = net.number(1, shape[1] - 1)
    a, b = net.layer("Slice", [x], f"slice_param {{ axis: 1 slice_point: {at} }}", tops=2)
    net.live.append((a, [shape[0], at, *shape[2:]]))
    return b, [shape[0], shape[1] - at, *shape[2:]]


def local_response(net, x, shape):
    region = net.pick("ACROSS_CHANNELS", "WITHIN_CHANNEL")
    param = (
        f"lrn_param {{ local_size: {net.pick(3, 5)} alpha: 0.3 beta: 0.75 norm_region: {region} }}"
    )
    return net.layer("LRN", [x], param), shape


def permuted(net, x, shape):
    order = [0, *(1 + net.r.permutation(3)).tolist()]
    param = "permute_param { " + " ".join(f"order: {k}" for k in order) + " }"
    return net.layer("Permute", [x], param), [shape[k] for k in order]


def shuffled(net, x, shape):
    group = net.pick(*[k for k in range(1, shape[1] + 1) if shape[1] % k == 0])
    return net.layer("ShuffleChannel", [x], f"shuffle_channel_param {{ group: {group} }}"), shape


def reshaped(net, x, shape):
    dims = f"dim: 0 dim: {shape[1] * shape[2]} dim: 1 dim: -1"
    return net.layer("Reshape", [x], f"reshape_param {{ shape {{ {dims} }} }}"), [
        shape[0],
        shape[1] * shape[2],
        1,
        shape[3],
    ]


def across(net, x, shape):
    shared = net.pick(True, False)
    wide = net.pick("true", "false")
    each = str(shared).lower()
    param = f"norm_param {{ across_spatial: {wide} channel_shared: {each} }}"
    return net.layer("Normalize", [x], param, [net.values(1 if shared else shape[1])]), shape


def soft(net, x, shape):
    return (
        net.layer(
            "Softmax", [x], net.pick("", "softmax_param { axis: 1 }", "softmax_param { axis: 3 }")
        ),
        shape,
    )


LAYERS = [
    convolution,
    convolution,
    deconvolution,
    pooling,
    normalised,
    pointwise,
    pointwise,
    sums,
    joins,
    parts,
    local_response,
    permuted,
    reshaped,
    shuffled,
    across,
    soft,
]


def make(seed):
    net = Net(seed)
    shape = [net.pick(1, 1, 2), net.number(1, 6), net.number(4, 11), net.number(4, 11)]
    net.text = 'input: "x" input_shape { ' + " ".join(f"dim: {n}" for n in shape) + " }\n"
    first, net.live = shape, [("x", shape)]
    for _ in range(net.number(2, 9)):
        x, s = net.live[-1] if net.pick(1, 1, 0) else net.live[net.r.randint(len(net.live))]
        made = LAYERS[net.r.randint(len(LAYERS))](net, x, s)
        if made and np.prod(made[1]) < 20000:
            net.live.append(made)
    x, s = net.live[-1]
    if net.pick(0, 1):
        n, width = net.number(1, 9), int(np.prod(s[1:]))
        param = f"inner_product_param {{ num_output: {n} }}"
        net.live.append(
            (
                net.layer("InnerProduct", [x], param, [net.values(n, width), net.values(n)]),
                [s[0], n],
            )
        )
    return net, net.values(*first).astype("f4")


def build(seed, folder):
    net, x = make(seed)
    if not net.n:
        return "no layers"
    folder.mkdir(parents=True)
    (folder / "model.prototxt").write_text(net.text)
    weights = folder / "model.caffemodel"
    if net.model:
        weights.write_bytes(net.model)
    try:
        paths = [str(folder / "model.prototxt")] + [str(weights)] * bool(net.model)
        run = cv2.dnn.readNetFromCaffe(*paths)
        run.enableFusion(False)
        run.setInput(x, "x")
        read = {
            b
            for line in net.text.splitlines()
            for b in line.split('bottom: "')[1:]
            for b in [b.split('"')[0]]
        }
        names = sorted({t.split('"')[0] for t in net.text.split('top: "')[1:]} - read)
        outs = run.forward(names)
    except cv2.error as e:
        shutil.rmtree(folder)
        return f"OpenCV: {str(e).splitlines()[0][:150]}"
    (folder / "ref").mkdir()
    np.save(folder / "ref" / "set0_in0.npy", x)
    for k, y in enumerate(outs):
        np.save(folder / "ref" / f"set0_out{k}.npy", y)
    return None


def in_child(seed, folder):
    """In a process of its own, which OpenCV may end. What was not built is not there."""
    pid = os.fork()
    if not pid:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os._exit(0 if build(seed, folder) is None else 1)
    if os.waitpid(pid, 0)[1]:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("tenon")
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--n", type=int, default=200)
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()
    shutil.rmtree(a.folder, ignore_errors=True)
    for seed in range(a.seed, a.seed + a.n):
        in_child(seed, a.folder / str(seed))
    out = subprocess.run(
        [a.tenon, "test", str(a.folder), "--json", "-", "--quiet"], capture_output=True, text=True
    )
    cases = json.loads(out.stdout)["cases"]
    bad = [c for c in cases if c["outcome"] != "pass"]
    for c in cases:
        if c["outcome"] == "pass":
            shutil.rmtree(a.folder / pathlib.Path(c["case"]).name)
    for c in bad:
        print(c["outcome"], pathlib.Path(c["case"]).name, c["reason"][-200:])
    print(f"{len(cases) - len(bad)} of {len(cases)} agree; OpenCV does not run {a.n - len(cases)}")


if __name__ == "__main__":
    main()
