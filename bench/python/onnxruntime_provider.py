#!/usr/bin/env python3
"""ONNX Runtime by itself, ONNX Runtime with Tenon as execution provider, and Tenon by itself, on the
same models, taking turns: a table of the shortest times of a run on one thread.

usage: onnxruntime_provider.py MODEL.onnx ..."""

import sys
import time

import numpy as np
import onnxruntime

import tenon
import tenon.onnxruntime

SECONDS = 3
DTYPES = {"float": "f4", "int64": "i8", "int32": "i4", "float16": "f2", "uint8": "u1", "bool": "?"}


def session(path, with_tenon):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if with_tenon:
        options.add_provider_for_devices(tenon.onnxruntime.devices(), {"threads": "1"})
    return onnxruntime.InferenceSession(path, options)


def feeds(of):
    random, inputs = np.random.default_rng(1), {}
    for v in of.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else 1 for d in v.shape]
        dtype = np.dtype(DTYPES[v.type[7:-1]])
        whole = random.integers(0, 2, shape)
        inputs[v.name] = (random.random(shape) if dtype.kind == "f" else whole).astype(dtype)
    return inputs


def best_of(runs, inputs):
    best = [float("inf")] * len(runs)
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for k, run in enumerate(runs):
            begin = time.perf_counter()
            run.run(None, inputs)
            best[k] = min(best[k], time.perf_counter() - begin)
    return [1e6 * b for b in best]


def main():
    print("| model | ORT, us | ORT with Tenon | Tenon | ORT / with Tenon | with Tenon / Tenon |")
    print("|---|--:|--:|--:|--:|--:|")
    options = tenon.SessionOptions()
    options.intra_op_num_threads = 1
    for path in sys.argv[1:]:
        runs = [session(path, False), session(path, True), tenon.InferenceSession(path, options)]
        a, b, c = best_of(runs, feeds(runs[0]))
        name = path.split("/")[-2] if path.endswith("model.onnx") else path.split("/")[-1]
        print(f"| {name} | {a:.1f} | {b:.1f} | {c:.1f} | {a / b:.2f} | {b / c:.3f} |", flush=True)


main()
