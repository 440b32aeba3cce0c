#!/usr/bin/env python3
"""Times devices that every machine can have, always by turns, and prints a table for each question.

    bench/devices/run.py --tenon build/tenon against-cpu shadow:0 MODEL.onnx...   # and auto
    bench/devices/run.py --tenon build/tenon starts vulkan:0 opencl:0 -- MODEL.onnx...
    build/peers/bin/python bench/devices/run.py --tenon build/tenon ncnn build/bench/resnet18.onnx ...
    build/peers/bin/python bench/devices/run.py --tenon build/tenon host-time shadow:0
    bench/devices/run.py --json build/bench/devices.json page docs/benchmarks.md

against-cpu: a run on the device, divided by one on the CPU, by the clock and in time of the processor. host-time: what a run
takes of its thread for each step that is recorded, the driver's part of it included: chains of 100 and 1100 steps. starts: programs that a first and a second
start build, and what the first run of the second start takes, divided by its median run. ncnn: whole nets on the first
device of Vulkan in ncnn, divided by Tenon's time there; both hold the model in one process, in f32, and
their outputs are compared. Figures are medians of rounds, with the least and the largest. --json FILE keeps them there, beside
what it has; page writes them into the last section of docs/benchmarks.md.
"""
import argparse
import ctypes
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import resource
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


def processor_ns(tenon, model, device, runs, env):
    """Of a run, all threads: what so many runs more take."""
    def taken(n):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if isinstance(bench(tenon, model, device, n, env), str):
            return None
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e9
    few, many = taken(5), taken(5 + runs)
    return None if few is None or many is None else (many - few) / runs


def against_cpu(given):
    device, *models = given.rest
    env = dict(os.environ, TENON_SHADOW=os.environ.get("TENON_SHADOW", "delay=0"))
    rows, refused = {}, {}
    for model in models:
        clock, processor, runs = [], [], given.runs
        for _ in range(given.rounds):
            there, here = (bench(given.tenon, model, d, runs, env) for d in (device, None))
            failed = next((each for each in (there, here) if isinstance(each, str)), None)
            if failed:
                break
            runs = int(min(max(given.runs, 2e8 / here["ns"]["median"]), 20000))
            clock.append(there["ns"]["median"] / here["ns"]["median"])
            pair = [processor_ns(given.tenon, model, d, runs, env) for d in (device, None)]
            if all(pair):
                processor.append(pair[0] / pair[1])
        if failed or not processor:
            refused[name_of(model)] = failed or "no processor time"
            print(f"{model}: {failed}", flush=True)
            continue
        rows[name_of(model)] = {"clock": clock, "processor": processor, "cpu_us": here["ns"]["median"] / 1e3}
        print(f"{model}: {spread(clock)} by the clock, {spread(processor)} of processor time, "
              f"{here['ns']['median'] / 1e3:.1f} us on the CPU", flush=True)
    keep(given, f"against-cpu {device}", {"models": rows, "refused": refused})


def name_of(model):
    path = pathlib.Path(model)
    return path.parent.name if path.stem == "model" else path.stem


def keep(given, question, found):
    """Writes what was found to --json, beside the rest."""
    if not given.json:
        return
    path = pathlib.Path(given.json)
    kept = json.loads(path.read_text()) if path.exists() else {}
    cpu = next((line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), platform.machine())
    if "models" in found and question in kept:
        found = {k: {**kept[question].get(k, {}), **v} for k, v in found.items()}
    kept[question] = dict(found, date=datetime.date.today().isoformat(), machine=f"{cpu}, {os.cpu_count()} cores")
    path.write_text(json.dumps(kept, indent=1))


def starts(given):
    at = given.rest.index("--") if "--" in given.rest else 1
    devices, models = given.rest[:at], [m for m in given.rest[at:] if m != "--"]
    rows = {}
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
            rows[f"{device} {name_of(model)}"] = {"built": built, "ms": times, "first": runs}
            print(f"{device} {model}: programs {built[0]}, then {built[1]}; load and first run {times[0]:.0f} ms, then "
                  f"{times[1]:.0f} ms; first run / median {runs:.2f}", flush=True)


    keep(given, "starts", {"models": rows})


class ModelOptions(ctypes.Structure):
    """tn_model_options, up to where a model runs; the library takes the rest as zero."""
    _fields_ = [("size", ctypes.c_uint32), ("major", ctypes.c_uint16), ("minor", ctypes.c_uint16),
                ("format", ctypes.c_char_p), ("max_plans", ctypes.c_int32), ("flags", ctypes.c_uint32),
                ("devices", ctypes.POINTER(ctypes.c_char_p)), ("n_devices", ctypes.c_uint32), ("fallback", ctypes.c_uint32)]


def on_device(name):
    """The engine of Tenon in bench/peers, whose models go to a device."""
    sys.path.insert(0, str(HERE.parent / "peers"))
    import engines

    class OnDevice(engines.Tenon):
        def load(self, path, inputs, outputs, threads):
            lib, names = self.lib, (ctypes.c_char_p * 1)(name.encode())
            load = lib.tn_model_load
            options = ModelOptions(ctypes.sizeof(ModelOptions), *engines.ABI, devices=names, n_devices=1)
            lib.tn_model_load = lambda r, p, _, diag, out: load(r, p, ctypes.addressof(options), diag, out)
            super().load(path, inputs, outputs, threads)
            lib.tn_model_load = load
    return OnDevice()


def host_time(given):
    """Chains of Cos and Sin, which no rewrite joins, of 4 numbers: the rest of a run is the same in both."""
    import numpy as np
    import onnx
    from onnx import helper
    device, lengths = given.rest[0], (100, 1100)

    def chain(n, path):
        names = [f"v{k}" for k in range(n + 1)]
        nodes = [helper.make_node(("Cos", "Sin")[k % 2], [names[k]], [names[k + 1]]) for k in range(n)]
        ports = [helper.make_tensor_value_info(x, onnx.TensorProto.FLOAT, [4]) for x in (names[0], names[-1])]
        graph = helper.make_graph(nodes, "chain", ports[:1], ports[1:])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
        engine = on_device(device)
        engine.load(pathlib.Path(path), {names[0]: np.ones(4, np.float32)}, {names[-1]: None}, 1)
        for _ in range(3):
            engine.run()
        return engine

    def thread_ns(engine):
        some = []
        for _ in range(given.runs):
            begin = time.thread_time_ns()
            engine.run()
            some.append(time.thread_time_ns() - begin)
        return statistics.median(some)

    with tempfile.TemporaryDirectory() as folder:
        engines = [chain(n, f"{folder}/{n}.onnx") for n in lengths]
        rounds = []
        for _ in range(given.rounds):
            few, many = (thread_ns(e) for e in engines)
            rounds.append((many - few) / (lengths[1] - lengths[0]))
    print(f"{device}: {spread(rounds, ' ns')} of the thread a step")
    keep(given, f"host-time {device}", {"ns": rounds})


def ncnn(given):
    sys.path.insert(0, str(HERE.parent / "peers"))
    import numpy as np
    import onnx
    import engines

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

    rows = {}
    for model in map(pathlib.Path, given.rest):
        graph, random = onnx.load(model).graph, np.random.default_rng(1)
        inputs = {i.name: random.standard_normal([d.dim_value or 1 for d in i.type.tensor_type.shape.dim], np.float32)
                  for i in graph.input if i.name not in {w.name for w in graph.initializer}}
        outputs = {o.name: None for o in graph.output}
        pair = [NcnnOnVulkan(), on_device("vulkan:0")]
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
        rows[name_of(model)] = {"ratios": [a / b for a, b in rounds], "ms": statistics.median(b for _, b in rounds) / 1e6,
                                "error": error}
        print(f"{model.stem}: {spread([a / b for a, b in rounds])}, Tenon {statistics.median(b for _, b in rounds) / 1e6:.1f} ms; "
              f"outputs differ by {error:.2f} of the tolerance", flush=True)


    keep(given, "ncnn", {"models": rows})


# ---- the page ----

def middle(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} .. {max(values):.2f})"


def against_table(what, title):
    rows = what["models"]
    of = {n: statistics.median(r["processor"]) for n, r in rows.items()}
    largest = max(of, key=of.get)
    text = f"{title}: of {len(rows)} models the median is {statistics.median(of.values()):.2f}, the largest {of[largest]:.2f} ({largest}).\n\n"
    text += "| model | processor time | by the clock | on the CPU |\n|---|--:|--:|--:|\n"
    for name, r in rows.items():
        text += f"| {name} | {middle(r['processor'])} | {middle(r['clock'])} | {r['cpu_us']:.0f} us |\n"
    for name, why in what["refused"].items():
        text += f"\n{name} did not run: `{why}`\n"
    return text + "\n"


def page(given):
    kept = json.loads(pathlib.Path(given.json).read_text())
    day = sorted({(k["date"], k["machine"]) for k in kept.values()})
    text = f"""## Devices

What `bench/devices/run.py` measured, by turns, on machines without a GPU (PoCL, lavapipe and llvmpipe compute on the processor): {"; ".join(f"{d}, {m}" for d, m in day)}. In
parentheses the least and the largest of the rounds. An H100, and OpenVINO as an accelerator: [accelerators.md](accelerators.md). No figure of PoCL beside MNN's OpenCL: MNN's package has no such backend.

"""
    titles = {"against-cpu shadow:0": "**The shadow device**, without its delays, divided by the CPU (goal: 2 at most)",
              "against-cpu auto": "**`--device auto`** divided by the plan without it (goal: 1.03 at most)"}
    for k, what in kept.items():
        if k in titles:
            text += against_table(what, titles[k])
        if k.startswith("host-time"):
            text += (f"**Host time** for a recorded step on `{k.split()[1]}`: {middle(what['ns'])} ns, the driver's part included "
                     "(goal: 200 beside the driver's own).\n\n")
        if k == "starts":
            text += ("**Second start**: programs that a first and a second start build (goal: none), load and first run, the second start's "
                     "first run divided by a later one (goal: 1.5).\n\n| device, model | programs | ms | first / later |\n|---|--:|--:|--:|\n")
            for name, r in what["models"].items():
                text += f"| {name} | {r['built'][0]}, {r['built'][1]} | {r['ms'][0]:.0f}, {r['ms'][1]:.0f} | {r['first']:.2f} |\n"
            text += "\n"
        if k == "ncnn":
            text += ("**lavapipe, ncnn's time divided by Tenon's** (goal: 0.8), outputs compared, 1 is the tolerance.\n\n"
                     "| model | ratio | Tenon | difference |\n|---|--:|--:|--:|\n")
            for name, r in what["models"].items():
                text += f"| {name} | {middle(r['ratios'])} | {r['ms']:.1f} ms | {r['error']:.2f} |\n"
            text += "\n"
    path = pathlib.Path(given.rest[0])
    path.write_text(path.read_text().split("## Devices\n")[0].rstrip("\n") + "\n\n" + text.rstrip("\n") + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", default="build/tenon")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=20, help="of each, in a round")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("question", choices=("against-cpu", "starts", "ncnn", "host-time", "page"))
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    {"against-cpu": against_cpu, "starts": starts, "ncnn": ncnn, "host-time": host_time, "page": page}[given.question](given)


if __name__ == "__main__":
    main()
