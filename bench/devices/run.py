#!/usr/bin/env python3
"""Times devices that every machine can have, always by turns, and prints a table for each question.

    bench/devices/run.py --tenon build/tenon against-cpu shadow:0 MODEL.onnx...   # and auto
    bench/devices/run.py --tenon build/tenon starts vulkan:0 opencl:0 -- MODEL.onnx...
    build/peers/bin/python bench/devices/run.py --tenon build/tenon ncnn build/bench/resnet18.onnx ...

against-cpu: a run on the device, divided by one on the CPU. starts: programs that a first and a second
start build, and what the first run of the second start takes, divided by its median run. ncnn: whole nets on the first
device of Vulkan in ncnn, divided by Tenon's time there; both hold the model in one process, in f32, and
their outputs are compared. Figures are medians of rounds, with the least and the largest.
"""
import argparse
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def bench(tenon, model, device, runs, env=None):
    """What `tenon bench` measures, or a text that says why it does not."""
    command = [tenon, "bench", str(model), "--repeat", str(runs), "--json"]
    command += ["--device", device] if device else []
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["?"])[-1]
    return json.loads(done.stdout)


def spread(values, unit=""):
    return f"{statistics.median(values):.2f}{unit} ({min(values):.2f} .. {max(values):.2f})"


def against_cpu(given):
    device, *models = given.rest
    worst = 0
    for model in models:
        ratios, cpu_us = [], []
        for _ in range(given.rounds):
            there, here = (bench(given.tenon, model, d, given.runs) for d in (device, None))
            failed = next((each for each in (there, here) if isinstance(each, str)), None)
            if failed:
                break
            ratios.append(there["ns"]["median"] / here["ns"]["median"])
            cpu_us.append(here["ns"]["median"] / 1e3)
        if failed:
            print(f"{model}: {failed}", flush=True)
            continue
        worst = max(worst, statistics.median(ratios))
        print(f"{model}: {spread(ratios)}, {statistics.median(cpu_us):.1f} us on the CPU", flush=True)
    print(f"largest: {worst:.2f}")


def starts(given):
    at = given.rest.index("--") if "--" in given.rest else 1
    devices, models = given.rest[:at], [m for m in given.rest[at:] if m != "--"]
    for device in devices:
        for model in models:
            with tempfile.TemporaryDirectory() as folder:
                env = dict(os.environ, TENON_PROGRAM_CACHE=folder)
                made = [bench(given.tenon, model, device, given.runs, env) for _ in range(2)]
            failed = next((each for each in made if isinstance(each, str)), None)
            if failed:
                print(f"{device} {model}: {failed}", flush=True)
                continue
            first, second = made
            runs = second["ns"]["first_run"] / second["ns"]["median"]
            built = [each["placement"]["programs_built"] for each in made]
            times = [(each["ns"]["load"] + each["ns"]["first_run"]) / 1e6 for each in (first, second)]
            print(f"{device} {model}: programs {built[0]}, then {built[1]}; load and first run {times[0]:.0f} ms, then "
                  f"{times[1]:.0f} ms; first run / median {runs:.2f}", flush=True)


class ModelOptions(ctypes.Structure):
    """tn_model_options, up to where a model runs; the library takes the rest as zero."""
    _fields_ = [("size", ctypes.c_uint32), ("major", ctypes.c_uint16), ("minor", ctypes.c_uint16),
                ("format", ctypes.c_char_p), ("max_plans", ctypes.c_int32), ("flags", ctypes.c_uint32),
                ("devices", ctypes.POINTER(ctypes.c_char_p)), ("n_devices", ctypes.c_uint32), ("fallback", ctypes.c_uint32)]


def ncnn(given):
    sys.path.insert(0, str(HERE.parent / "peers"))
    import numpy as np
    import onnx
    import engines

    class OnVulkan(engines.Tenon):
        def load(self, path, inputs, outputs, threads):
            lib, names = self.lib, (ctypes.c_char_p * 1)(b"vulkan:0")
            load = lib.tn_model_load
            options = ModelOptions(ctypes.sizeof(ModelOptions), *engines.ABI, devices=names, n_devices=1)
            lib.tn_model_load = lambda r, p, _, diag, out: load(r, p, ctypes.addressof(options), diag, out)
            super().load(path, inputs, outputs, threads)
            lib.tn_model_load = load

    class NcnnOnVulkan(engines.Ncnn):
        def load(self, path, inputs, outputs, threads):
            made = self.ncnn.Net

            def net():
                one = made()
                one.opt.use_vulkan_compute = True
                return one
            self.ncnn.Net = net
            super().load(path, inputs, outputs, threads)
            self.ncnn.Net = made

    for model in map(pathlib.Path, given.rest):
        graph, random = onnx.load(model).graph, np.random.default_rng(1)
        inputs = {i.name: random.standard_normal([d.dim_value or 1 for d in i.type.tensor_type.shape.dim], np.float32)
                  for i in graph.input if i.name not in {w.name for w in graph.initializer}}
        outputs = {o.name: None for o in graph.output}
        pair = [NcnnOnVulkan(), OnVulkan()]
        for engine in pair:
            engine.load(model, inputs, outputs, 2)
            engine.run()
        theirs, ours = ([np.asarray(r).reshape(-1) for r in e.results()] for e in pair)
        error = max(float(np.max(np.abs(a - b) / (1e-4 + 1e-3 * np.abs(b)))) for a, b in zip(theirs, ours))
        rounds = []
        for _ in range(given.rounds):
            times = []
            for engine in pair:
                some = []
                for _ in range(given.runs):
                    begin = time.perf_counter_ns()
                    engine.run()
                    some.append(time.perf_counter_ns() - begin)
                times.append(statistics.median(some))
            rounds.append(times)
        print(f"{model.stem}: {spread([a / b for a, b in rounds])}, Tenon {statistics.median(b for _, b in rounds) / 1e6:.1f} ms; "
              f"outputs differ by {error:.2f} of the tolerance", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", default="build/tenon")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=20, help="of each, in a round")
    parser.add_argument("question", choices=("against-cpu", "starts", "ncnn"))
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    {"against-cpu": against_cpu, "starts": starts, "ncnn": ncnn}[given.question](given)


if __name__ == "__main__":
    main()
