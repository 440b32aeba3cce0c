#!/usr/bin/env python3
"""ONNX Runtime by itself, ONNX Runtime with Tenon as execution provider, and Tenon by itself, on the
same models, taking turns: a table of the shortest times of a run on one thread. With --bound, inputs
and outputs are bound once (io_binding), and a run hands no array over.

usage: onnxruntime_provider.py [--bound] MODEL.onnx ..."""

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


class Bound:
    """A session whose values were bound before."""

    def __init__(self, of, inputs, outputs):
        values = tenon.OrtValue if isinstance(of, tenon.InferenceSession) else onnxruntime.OrtValue
        self.session, self.binding, self.kept = of, of.io_binding(), []
        bind_input, bind_output = self.binding.bind_ortvalue_input, self.binding.bind_ortvalue_output
        for name, value in inputs.items():
            self.bind(bind_input, name, values.ortvalue_from_numpy(value))
        for v, value in zip(of.get_outputs(), outputs):
            self.bind(bind_output, v.name, values.ortvalue_from_numpy(value))

    def bind(self, to, name, value):
        to(name, value)
        self.kept.append(value)

    def run(self, names, inputs):
        self.session.run_with_iobinding(self.binding)


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
    is_bound = "--bound" in sys.argv
    for path in [p for p in sys.argv[1:] if p != "--bound"]:
        runs = [session(path, False), session(path, True), tenon.InferenceSession(path, options)]
        inputs = feeds(runs[0])
        if is_bound:
            outputs = runs[0].run(None, inputs)
            runs = [Bound(run, inputs, outputs) for run in runs]
        a, b, c = best_of(runs, inputs)
        name = path.split("/")[-2] if path.endswith("model.onnx") else path.split("/")[-1]
        print(f"| {name} | {a:.1f} | {b:.1f} | {c:.1f} | {a / b:.2f} | {b / c:.3f} |", flush=True)


main()
