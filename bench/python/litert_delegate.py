#!/usr/bin/env python3
"""LiteRT by itself, LiteRT with Tenon as its delegate, and Tenon by itself, on the same models,
taking turns: a table of the shortest times of a run on one thread.

usage: litert_delegate.py MODEL.tflite ..."""

import sys
import time

import numpy as np
from ai_edge_litert.interpreter import Interpreter

import tenon
import tenon.litert

SECONDS = 3


def interpreter(path, *delegates):
    i = Interpreter(path, experimental_delegates=list(delegates), num_threads=1)
    i.allocate_tensors()
    return i


def inputs_of(i):
    r = np.random.default_rng(1)
    for d in i.get_input_details():
        codes = r.integers(0, 100, d["shape"])
        yield (r.random(d["shape"]) if d["dtype"] == np.float32 else codes).astype(d["dtype"])


def best_of(runs):
    best = [float("inf")] * len(runs)
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for k, run in enumerate(runs):
            begin = time.perf_counter()
            run()
            best[k] = min(best[k], time.perf_counter() - begin)
    return [1e6 * b for b in best]


def main():
    print(
        "| model | LiteRT, us | LiteRT with Tenon | Tenon | LiteRT / with Tenon "
        "| with Tenon / Tenon |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    for path in sys.argv[1:]:
        alone, delegated = interpreter(path), interpreter(path, tenon.litert.delegate())
        inputs = list(inputs_of(alone))
        for i in (alone, delegated):
            for d, x in zip(i.get_input_details(), inputs):
                i.set_tensor(d["index"], x)
        model = tenon.load(path, threads=1)
        a, b, c = best_of([alone.invoke, delegated.invoke, lambda: model(*inputs)])
        name = path.split("/")[-2] if path.endswith("model.tflite") else path.split("/")[-1]
        print(f"| {name} | {a:.1f} | {b:.1f} | {c:.1f} | {a / b:.2f} | {b / c:.3f} |", flush=True)


main()
