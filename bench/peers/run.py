#!/usr/bin/env python3
"""Runs models in Tenon and in its peers, alternating, and writes what it measured.

    bench/peers/setup
    build/peers/bin/python bench/peers/run.py -o build/bench -t 1 -t 2
    build/peers/bin/python bench/peers/run.py -o build/bench -t 1 --int8

Each engine holds the model in a process of its own. In every round each engine in turn runs for a slice
of time while all others sleep; the ratio of a peer is the median over the rounds of its median time
divided by Tenon's of the same round. Start-up, which is loading and the first run, is that of processes
that only start, in turn, after a round that brings the files into memory. Outputs are compared with
ONNX Runtime's without optimisation. With --busy a loop keeps the last of the cores busy, after a run on one thread without it. With --int8
models are quantised first, with activations of u8 (of transformers, at run time); outputs may then
differ by a few of 255 steps.
"""
import argparse
import contextlib
import json
import os
import pathlib
import platform
import select
import statistics
import subprocess
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "models")]
import build
import engines

LIMIT = 1800  # a conversion may take minutes
QUANTISED = ("resnet50", "mobilenet_v2", "squeezenet_1_1", "bert_base_128")
DYNAMIC = ("bert_base_128", "vit_small", "gpt2_prefill_128", "gpt2_decode")  # activations at run time, as is usual
STEPS = 4  # by which outputs of quantised models may differ: each value on the way there is rounded
TAKE_QUANTISED = ("tenon", "onnxruntime", "openvino")  # as onnxruntime.quantization writes them


class Worker:
    def __init__(self, engine, cpus):
        self.engine = engine
        env = dict(os.environ, OMP_NUM_THREADS=str(len(cpus)))
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=env, preexec_fn=lambda: os.sched_setaffinity(0, cpus))

    def ask(self, *words):
        """What the worker answers; a worker that says nothing for LIMIT seconds has failed."""
        try:
            print(*words, file=self.process.stdin, flush=True)
            if not select.select([self.process.stdout], [], [], LIMIT)[0]:
                self.end()
                return {"failed": f"no answer within {LIMIT} seconds"}
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            return {"failed": f"its process ended with {self.process.wait()}"}
        return json.loads(line)

    def end(self):
        self.process.kill()
        self.process.wait()


def inputs_of(path):
    """A file of random inputs of a model and the outputs of an engine that runs it as it stands."""
    target = path.with_suffix(".values.npz")
    if target.exists() and target.stat().st_mtime > path.stat().st_mtime:
        return target
    import onnx
    import onnxruntime as ort
    rng, arrays = np.random.default_rng(0), {}
    graph = onnx.load(path, load_external_data=False).graph
    initializers = {tensor.name for tensor in graph.initializer}
    for value in graph.input:
        if value.name in initializers:
            continue
        shape = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.elem_type == onnx.TensorProto.INT64:
            top = 2 if "mask" in value.name or "type" in value.name else 1000
            arrays[value.name] = rng.integers(1 if "mask" in value.name else 0, top, shape)
        else:
            arrays[value.name] = rng.standard_normal(shape).astype(np.float32)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    expected = session.run(None, arrays)
    np.savez(target, **{f"input/{name}": a for name, a in arrays.items()},
             **{f"output/{v.name}": a for v, a in zip(graph.output, expected)})
    return target


def quantised_name(model):
    return f"{model}.{'dynamic' if model in DYNAMIC else 'u8'}.onnx"


def write(model, path, int8):
    """The model's file, unless it is there."""
    if path.exists():
        return
    if int8:
        plain = path.with_name(f"{model}.onnx")
        write(model, plain, False)
        command = [sys.executable, str(HERE.parent / "models" / "int8.py"), str(plain), "-o", str(path)]
        subprocess.run(command + ["--dynamic"] * (model in DYNAMIC), check=True)
    else:
        import onnx
        onnx.save(build.MODELS[model](), path)


def convert(path, names):
    """Makes the files that the engines need of a model; says which cannot."""
    given = inputs_of(path)
    for refusal in path.parent.glob(f"{path.stem}.*.failed"):
        refusal.unlink()
    for name in names:
        worker = Worker(name, sorted(os.sched_getaffinity(0)))
        row = worker.ask("convert", name, path, given)
        print(f"{path.stem:22} {name:12} {row.get('failed', 'ready')}", flush=True)
        worker.end()


def rounds_of(workers, rows, args):
    """{engine: [the times of each round]}; engines that fail get a row that says so."""
    rounds = {name: [] for name in workers}
    for k in range(args.rounds + 1):
        for name, worker in workers.items():
            if "failed" in rows[name]:
                continue
            time.sleep(args.pause)
            times = worker.ask("slice", args.slice)
            if isinstance(times, dict):
                rows[name] = times
            elif k > 0:  # the first warms up
                rounds[name].append(times)
    return rounds


def starts_of(path, names, cpus, args):
    """{engine: [its answer to load, in a process of its own]}, without those that fail."""
    given, starts = inputs_of(path), {name: [] for name in names}
    for k in range(args.starts + 1):
        for name in names:
            worker = Worker(name, cpus)
            row = worker.ask("load", name, path, given, len(cpus), STEPS if args.int8 else 0)
            worker.end()
            if k > 0 and "failed" not in row:  # the first warms up
                starts[name].append(row)
    return starts


def note_starts(row, starts):
    """Medians of loading and the first run together: by the clock, and of processor time."""
    row["start_ns"] = statistics.median(each["load_ns"] + each["first_ns"] for each in starts)
    row["start_work_ns"] = statistics.median(each["start_work_ns"] for each in starts)


def measure(path, names, threads, args):
    """{engine: row} for one model and number of threads."""
    cpus = sorted(os.sched_getaffinity(0))[:threads]
    given = inputs_of(path)
    starts = starts_of(path, names, cpus, args) if args.starts else {}
    workers, rows = {}, {}
    for name in names:
        workers[name] = Worker(name, cpus)
        rows[name] = workers[name].ask("load", name, path, given, threads, STEPS if args.int8 else 0)
    rounds = rounds_of(workers, rows, args)
    for worker in workers.values():
        worker.end()
    for name, kept in rounds.items():
        if "failed" in rows[name]:
            continue
        if starts.get(name):
            note_starts(rows[name], starts[name])
        every = sorted(t for times in kept for t in times)
        rows[name].update(min_ns=every[0], p10_ns=every[len(every) // 10], median_ns=statistics.median(every),
                          round_medians=[statistics.median(times) for times in kept], runs=len(every))
    ours = rows.get("tenon", {}).get("round_medians")
    for name, row in rows.items():
        if ours and "round_medians" in row:
            ratios = sorted(theirs / own for theirs, own in zip(row["round_medians"], ours))
            row["ratio"], row["ratio_low"], row["ratio_high"] = statistics.median(ratios), ratios[0], ratios[-1]
            row["ratio_min"] = row["min_ns"] / rows["tenon"]["min_ns"]
    return rows


def agrees(row):
    """Whether an engine ran and its outputs are right: others are in no mean and are nobody's best."""
    return "ratio" in row and row["error"] <= 1


def show(model, threads, rows):
    for name, row in rows.items():
        if "failed" in row:
            print(f"{model:22} {threads}  {name:12} failed: {row['failed']}", flush=True)
            continue
        differs = "" if row["error"] <= 1 else f"  DIFFERS ({row['error']:.3g} tolerances)"
        print(f"{model:22} {threads}  {name:12} {row['median_ns'] / 1e6:9.3f} ms  min {row['min_ns'] / 1e6:9.3f}  "
              f"ratio {row.get('ratio', float('nan')):5.2f}  start {row.get('start_ns', float('nan')) / 1e6:7.1f} ms "
              f"({row['start_work_ns'] / 1e6:.1f} of processors){differs}", flush=True)


def geomean(values):
    return float(np.exp(np.mean(np.log(values)))) if values else float("nan")


def best_peer(rows, peers):
    """The least ratio of those peers that agree; None without one."""
    return min((rows[p]["ratio"] for p in peers if agrees(rows.get(p, {}))), default=None)


def summary(results, peers):
    for threads in sorted({r["threads"] for r in results}):
        mine = [r["engines"] for r in results if r["threads"] == threads]
        for peer in peers:
            ratios = [e[peer]["ratio"] for e in mine if agrees(e.get(peer, {}))]
            print(f"{threads} threads: {peer} takes {geomean(ratios):.2f} times Tenon's time (geometric mean of {len(ratios)} models)")
        best = [b for b in (best_peer(e, peers) for e in mine) if b]
        print(f"{threads} threads: the best peer of each model takes {geomean(best):.2f} times; least {min(best, default=0):.2f}")


def machine():
    known = {"avx2": "AVX2", "avx512f": "AVX-512", "avx512_vnni": "VNNI", "avx_vnni": "AVX-VNNI", "amx_int8": "AMX"}
    with open("/proc/cpuinfo") as text:
        about = dict([word.strip() for word in line.split(":", 1)] for line in text if ":" in line)
    sets = [name for flag, name in known.items() if flag in about.get("flags", "").split()]
    return {"cpu": ", ".join([about.get("model name", "unknown"), *sets]), "cores": os.cpu_count(), "system": f"{platform.system()} {platform.machine()}, {' '.join(platform.libc_ver())}",
            "python": platform.python_version()}


@contextlib.contextmanager
def busy_core():
    """Somebody else's loop on the last core."""
    last = max(os.sched_getaffinity(0))
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"],
                            preexec_fn=lambda: os.sched_setaffinity(0, {last}))
    try:
        yield
    finally:
        loop.kill()
        loop.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="which models (default: all; build.py --list)")
    parser.add_argument("-o", "--output", default="build/bench", type=pathlib.Path, metavar="DIR", help="models and results")
    parser.add_argument("-t", "--threads", action="append", type=int, help="may be repeated (default: 1)")
    parser.add_argument("-e", "--engine", action="append", choices=list(engines.ENGINES), help="may be repeated (default: all)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds after the one that warms up (default: 7)")
    parser.add_argument("--slice", type=float, default=0.4, metavar="S", help="seconds of a slice (default: 0.4)")
    parser.add_argument("--pause", type=float, default=0.2, metavar="S", help="sleep before a slice (default: 0.2)")
    parser.add_argument("--starts", type=int, default=5, metavar="N", help="processes that only start (default: 5)")
    parser.add_argument("--busy", action="store_true", help="one quiet thread, then -t threads with the last core busy")
    parser.add_argument("--int8", action="store_true", help=f"quantised models (default: {', '.join(QUANTISED)})")
    parser.add_argument("--convert", action="store_true", help="write and convert the models, measure nothing")
    args = parser.parse_args()
    unknown = [name for name in args.models if name not in build.MODELS]
    if unknown:
        parser.error(f"there is no model {', '.join(unknown)}")
    names = args.engine or list(TAKE_QUANTISED if args.int8 else engines.ENGINES)
    if "tenon" in names:
        names.insert(0, names.pop(names.index("tenon")))
    args.output.mkdir(parents=True, exist_ok=True)
    results, target = [], args.output / ("busy.json" if args.busy else "int8.json" if args.int8 else "peers.json")
    for model in args.models or (QUANTISED if args.int8 else build.MODELS):
        path = args.output.resolve() / (quantised_name(model) if args.int8 else f"{model}.onnx")
        write(model, path, args.int8)
        if args.convert:
            convert(path, names)
            continue
        ways = [(threads, args.busy) for threads in args.threads or [1]]
        for threads, busy in [(1, False), *ways] if args.busy else ways:
            with busy_core() if busy else contextlib.nullcontext():
                rows = measure(path, names, threads, args)
            results.append({"model": model, "threads": threads, "busy": busy, "engines": rows})
            target.with_suffix(".part").write_text(json.dumps({"machine": machine(), "results": results}, indent=1))
            target.with_suffix(".part").replace(target)
            show(model, threads, rows)
    if not args.convert:
        summary([r for r in results if r["busy"] == args.busy], [name for name in names if name != "tenon"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
