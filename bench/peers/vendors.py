#!/usr/bin/env python3
"""What an accelerator costs beside its vendor alone: models run in OpenVINO through Tenon's plug-in and in OpenVINO itself, by turns.

    bench/peers/setup
    build/peers/bin/python bench/peers/vendors.py MODEL.onnx...

Both have one thread, the same precision and the same shapes. The ratio is the median over the rounds of OpenVINO's median
time divided by that of Tenon with OpenVINO as its accelerator, in the same round: 1 is no cost, 0.95 the goal. A model that
is not one island is named so.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

import numpy as np
import openvino

SLICE_S = 1.0


def library():
    folder = pathlib.Path(openvino.__file__).parent / "libs"
    return str(next(folder.glob("libopenvino_c.so*")))


def alone(core, path):
    """A function that measures the model in OpenVINO alone, in ns; its tensors stay where they are, as Tenon's do."""
    model = core.read_model(path)
    compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY",
                                                 "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    random = np.random.default_rng(7)
    for k, port in enumerate(compiled.inputs):
        shape, kind = list(port.get_shape()), port.get_element_type().to_dtype()
        data = random.random(shape).astype(kind) if kind.kind == "f" else np.ones(shape, kind)
        request.set_input_tensor(k, openvino.Tensor(data))

    def measure():
        times, end = [], time.perf_counter() + SLICE_S
        while time.perf_counter() < end:
            start = time.perf_counter_ns()
            request.start_async()  # infer() makes objects of the results, which takes as long as a small model
            request.wait()
            times.append(time.perf_counter_ns() - start)
        return statistics.median(times)

    return measure


def through_tenon(tenon, path):
    env = dict(os.environ, TENON_OPENVINO=library(), TENON_OPENVINO_THREADS="1")
    answer = json.loads(subprocess.run([tenon, "bench", path, "--device", "openvino", "--fallback", "warn", "--json"],
                                       env=env, check=True, capture_output=True).stdout)
    device = answer["placement"]["devices"][0]
    return answer["ns"]["median"], device["islands"], device["share_of_flops"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--tenon", default=str(pathlib.Path(__file__).parents[2] / "build/tenon"))
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    core = openvino.Core()
    for path in args.models:
        try:
            measure = alone(core, path)
        except RuntimeError as error:
            print(f"{path}: OpenVINO: {str(error).splitlines()[-1]}")
            continue
        rows = []
        for _ in range(args.rounds):
            ours, islands, share = through_tenon(args.tenon, path)
            rows.append((measure(), ours))
        whole = "one island" if islands == 1 and share == 1 else f"{islands} islands, {share:.1%} of the work"
        ratio = statistics.median(theirs / ours for theirs, ours in rows)
        theirs, ours = (statistics.median(column) / 1e3 for column in zip(*rows))
        print(f"{path}: OpenVINO {theirs:.1f} us, as an accelerator {ours:.1f} us, ratio {ratio:.3f}, {whole}", flush=True)


if __name__ == "__main__":
    main()
