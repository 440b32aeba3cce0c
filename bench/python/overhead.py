#!/usr/bin/env python3
"""What a call from Python costs beyond the same call in C, and what ONNX Runtime's costs, in one run.

A model of one addition is called again and again; the C program overhead.c does the same with the library that the package
holds. Rounds of all take turns; each counts the best of
100 times 200 calls, and the median and the best of the rounds are printed. usage: overhead.py [--rounds N]
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np

import tenon

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = pathlib.Path(tenon.__file__).resolve().parent
CALLS, CHUNK = 20000, 200


def model_bytes():
    """y = x + x, f32[4], as an ONNX file."""

    def field(number, content):
        return bytes([number << 3 | 2, len(content)]) + content

    def value(name):
        dim = field(1, bytes([1 << 3, 4]))
        tensor = bytes([1 << 3, 1]) + field(2, dim)
        return field(1, name) + field(2, field(1, tensor))

    node = field(1, b"x") + field(1, b"x") + field(2, b"y") + field(4, b"Add")
    graph = field(1, node) + field(2, b"g") + field(11, value(b"x")) + field(12, value(b"y"))
    return bytes([1 << 3, 8]) + field(7, graph) + field(8, bytes([2 << 3, 14]))


def per_call(call):
    """The best of many short rounds: what a call takes when nobody else is on the core."""
    best = float("inf")
    for _ in range(CALLS // CHUNK):
        begin = time.perf_counter_ns()
        for _ in range(CHUNK):
            call()
        best = min(best, (time.perf_counter_ns() - begin) / CHUNK)
    return best


def build_c(folder, include, library):
    program = pathlib.Path(folder) / "overhead"
    subprocess.run(
        ["cc", "-O2", f"-I{include}", "-o", program, HERE / "overhead.c", library,
         f"-Wl,-rpath,{library.parent}"], check=True)  # fmt: skip
    return program


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--include", default=PACKAGE / "include")
    parser.add_argument(
        "--library", type=pathlib.Path, default=next((PACKAGE / "lib").glob("libtenon.so*"), None)
    )
    options = parser.parse_args()
    x = np.arange(4, dtype=np.float32)
    feeds = {"x": x}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "add.onnx")
        pathlib.Path(path).write_bytes(model_bytes())
        model = tenon.load(path, threads=1)
        program = build_c(folder, options.include, options.library)
        ways = {
            "C": lambda: float(
                subprocess.run([program, path, str(CALLS)], check=True, capture_output=True).stdout
            ),
            "model(x)": lambda: per_call(lambda: model(x)),
            "model.run({'x': x})": lambda: per_call(lambda: model.run(feeds)),
        }
        if hasattr(tenon, "InferenceSession"):
            session = tenon.InferenceSession(path)
            ways["tenon.InferenceSession.run"] = lambda: per_call(lambda: session.run(None, feeds))
        try:
            import onnxruntime

            settings = onnxruntime.SessionOptions()
            settings.intra_op_num_threads = 1
            theirs = onnxruntime.InferenceSession(
                path, settings, providers=["CPUExecutionProvider"]
            )
            ways["onnxruntime.InferenceSession.run"] = lambda: per_call(
                lambda: theirs.run(None, feeds)
            )
        except ImportError:
            print("onnxruntime is not installed: not measured")
        times = {name: [] for name in ways}
        for _ in range(options.rounds):
            for name, way in ways.items():
                times[name].append(way())
    base = min(times["C"])
    print(f"{'ns a call':34} {'median':>8} {'best':>8} {'beyond C':>9}")
    for name, ns in times.items():
        print(f"{name:34} {statistics.median(ns):8.0f} {min(ns):8.0f} {min(ns) - base:+9.0f}")


if __name__ == "__main__":
    main()
