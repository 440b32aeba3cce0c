#!/usr/bin/env python3
"""Writes models/: MediaPipe's custom operators, one a model, with random inputs and what loops over
their definitions give, in f64. Needs ai-edge-litert (for the schema), flatbuffers and numpy."""

import pathlib
import struct

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from flatbuffers import flexbuffers

random = np.random.RandomState(7)
SAME, VALID = 1, 2


def model_of(name, version, options, inputs, outputs):
    model, g = schema.ModelT(), schema.SubGraphT()
    code, op = schema.OperatorCodeT(), schema.OperatorT()
    model.version, model.buffers, model.subgraphs = 3, [schema.BufferT()], [g]
    g.tensors, g.operators = [], [op]
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
    code.customCode, code.version, model.operatorCodes = name, version, [code]

    def tensor(kind, k, x):
        t = schema.TensorT()
        t.name, t.shape, t.type = f"{kind}{k}", list(x.shape), schema.TensorType.FLOAT32
        t.buffer = 0
        g.tensors.append(t)
        return len(g.tensors) - 1

    g.inputs = op.inputs = [tensor("in", k, x) for k, x in enumerate(inputs)]
    g.outputs = op.outputs = [tensor("out", k, x) for k, x in enumerate(outputs)]
    if options:
        op.customOptions = np.frombuffer(options, np.uint8)
    b = flatbuffers.Builder(1024)
    b.Finish(model.Pack(b), b"TFL3")
    return bytes(b.Output())


def write(name, op, reference, options, *inputs, version=1):
    inputs = [np.asarray(x, "f4") for x in inputs]
    outputs = reference(*[x.astype("f8") for x in inputs])
    outputs = [np.asarray(y, "f4") for y in (outputs if isinstance(outputs, tuple) else (outputs,))]
    folder = pathlib.Path(__file__).parent / "models" / name
    (folder / "ref").mkdir(parents=True, exist_ok=True)
    (folder / "model.tflite").write_bytes(model_of(op, version, options, inputs, outputs))
    for k, x in enumerate(inputs):
        np.save(folder / "ref" / f"set0_in{k}.npy", x)
    for k, y in enumerate(outputs):
        np.save(folder / "ref" / f"set0_out{k}.npy", y)


def conv_transpose(padding, stride_w, stride_h):
    def run(x, w, bias):
        n, ih, iw, _ = x.shape
        o, fh, fw, _ = w.shape
        cut_h = max(0, fh - (ih - 1) % stride_h - 1) if padding == SAME else 0
        cut_w = max(0, fw - (iw - 1) % stride_w - 1) if padding == SAME else 0
        full = np.zeros((n, stride_h * (ih - 1) + fh, stride_w * (iw - 1) + fw, o))
        for i in range(ih):
            for j in range(iw):
                at = full[:, i * stride_h : i * stride_h + fh, j * stride_w : j * stride_w + fw]
                at += np.einsum("nc,ohwc->nhwo", x[:, i, j], w)
        h, q = full.shape[1] - cut_h, full.shape[2] - cut_w
        return full[:, cut_h // 2 : cut_h // 2 + h, cut_w // 2 : cut_w // 2 + q] + bias

    return run, struct.pack("<3i", padding, stride_w, stride_h)


def pool_options(padding, stride, window, activation=0):
    return struct.pack("<6i", padding, *stride[::-1], *window[::-1], activation)


def max_pool(padding, stride, window):
    def run(x):
        n, ih, iw, c = x.shape
        sizes, pads = [], []
        for size, s, f in zip((ih, iw), stride, window):
            out = -(-size // s) if padding == SAME else (size - f + s) // s
            sizes.append(out)
            pads.append(max(0, (out - 1) * s + f - size) // 2)
        y, which = np.zeros((n, *sizes, c)), np.zeros((n, *sizes, c))
        for i in range(sizes[0]):
            for j in range(sizes[1]):
                best, tap = np.full((n, c), -np.inf), np.zeros((n, c))
                for a in range(window[0]):
                    for b in range(window[1]):
                        r, q = i * stride[0] - pads[0] + a, j * stride[1] - pads[1] + b
                        if 0 <= r < ih and 0 <= q < iw:
                            more = x[:, r, q] > best
                            best = np.where(more, x[:, r, q], best)
                            tap = np.where(more, a * window[1] + b, tap)
                y[:, i, j], which[:, i, j] = best, tap + np.float32(0.1)
        return y, which

    return run, pool_options(padding, stride, window)


def max_unpool(window):
    def run(x, which):
        n, h, w, c = x.shape
        y = np.zeros((n, h * window[0], w * window[1], c))
        for place in np.ndindex(x.shape):
            tap = int(which[place])
            r = place[1] * window[0] + tap // window[1]
            q = place[2] * window[1] + tap % window[1]
            if r < y.shape[1] and q < y.shape[2]:
                y[place[0], r, q, place[3]] = x[place]
        return y

    return run, pool_options(VALID, window, window)


def bilinear(image, x, y):
    h, w, c = image.shape
    out = np.zeros(c)
    for r in (np.floor(y), np.floor(y) + 1):
        for q in (np.floor(x), np.floor(x) + 1):
            if 0 <= r < h and 0 <= q < w:
                out += (1 - abs(y - r)) * (1 - abs(x - q)) * image[int(r), int(q)]
    return out


def resampler(x, warp):
    y = np.zeros_like(x)
    for n, i, j in np.ndindex(x.shape[:3]):
        across, down = warp[n, i, j]
        if -1 < across < x.shape[2] and -1 < down < x.shape[1]:
            y[n, i, j] = bilinear(x[n], across, down)
    return y


def transform_tensor(height, width, version):
    def run(x, matrix):
        m, y = matrix[0].copy(), np.zeros((1, height, width, x.shape[3]))
        if version == 2:
            m[:2, 3] += (m[:2, 0] + m[:2, 1]) * 0.5 - 0.5
        for i, j in np.ndindex(height, width):
            across, down = m[:2] @ (j, i, 0, 1)
            if 0 <= across <= x.shape[2] - 1 and 0 <= down <= x.shape[1] - 1:
                y[0, i, j] = bilinear(x[0], across, down)
        return y

    return run, flexbuffers.Dumps(dict(output_height=height, output_width=width))


def transform_landmarks(x, matrix):
    y = x.copy()
    y[0, :, :2] = x[0, :, :2] @ matrix[0, :2, :2].T + matrix[0, :2, 3]
    return y


def matrix_of(options):
    def run(x):
        left, right = x[0, options["left_rotation_idx"]], x[0, options["right_rotation_idx"]]
        level = np.arctan2(right[1] - left[1], right[0] - left[0])
        a = options["target_rotation_radians"] - level

        def turn(t):
            return np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])

        points = x[0, options["subset_idxs"], :2] @ turn(a).T
        lo, hi = points.min(0), points.max(0)
        size = np.array([options["output_width"], options["output_height"]])
        scale = np.array([options["scale_x"], options["scale_y"]]) * (hi - lo) / size
        m = np.eye(4)
        m[:2, :2] = turn(-a) @ np.diag(scale)
        m[:2, 3] = turn(-a) @ ((lo + hi) / 2) - m[:2, :2] @ (size / 2)
        return m[None]

    return run, flexbuffers.Dumps(options)


def normal(*shape):
    return random.normal(0, 1, shape)


for name, args in (("same", (SAME, 2, 2)), ("valid", (VALID, 1, 3)), ("uneven", (SAME, 3, 1))):
    run, options = conv_transpose(*args)
    write(f"conv_transpose_{name}", "Convolution2DTransposeBias", run, options, normal(2, 5, 4, 3),
          normal(6, 3, 2, 3), normal(6))
for name, args in (("same", (SAME, (2, 3), (3, 2))), ("valid", (VALID, (2, 2), (2, 2)))):
    run, options = max_pool(*args)
    write(f"max_pool_{name}", "MaxPoolingWithArgmax2D", run, options, normal(2, 7, 6, 3))
run, options = max_unpool((2, 3))
write("max_unpool", "MaxUnpooling2D", run, options, normal(2, 3, 2, 5),
      random.randint(0, 8, (2, 3, 2, 5)) + 0.1)
write("resampler", "Resampler", resampler, None, normal(2, 6, 5, 3),
      random.uniform(-2, 7, (2, 6, 5, 2)))
turned = np.array([[[0.7, -0.4, 0, 1.5], [0.3, 0.8, 0, -0.6], [0, 0, 1, 0], [0, 0, 0, 1]]])
for version in (1, 2):
    run, options = transform_tensor(5, 7, version)
    write(f"transform_tensor_{version}", "TransformTensorBilinear", run, options,
          normal(1, 6, 5, 4), turned, version=version)
for size in (2, 3):
    write(f"transform_landmarks_{size}", "TransformLandmarks", transform_landmarks, None,
          normal(1, 9, size), turned, version=2)
run, options = matrix_of(dict(left_rotation_idx=1, right_rotation_idx=4,
                              subset_idxs=[0, 2, 3, 5, 7], output_height=16, output_width=12,
                              scale_x=1.5, scale_y=1.25, target_rotation_radians=0.25))
write("matrix", "Landmarks2TransformMatrix", run, options, 10 * normal(1, 8, 3), version=2)
