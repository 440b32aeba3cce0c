#!/usr/bin/env python3
"""Times .tflite files as they are, Tenon beside LiteRT: a process each, in turns, on random inputs.

    build/peers/bin/python bench/peers/tflite.py [-t N] [--rounds N] [--slice S] FILE...
The ratio is LiteRT's time by Tenon's, the median of those of the rounds; behind it the least and the
largest. Both are called from Python, LiteRT by its invoke(), Tenon's function by ctypes, and each call
takes about 0.25 us of a run: of a model that takes less than 2 us, that is what is compared. Needs
ai-edge-litert (see setup)."""
import argparse
import ctypes
import functools
import json
import statistics
import subprocess
import sys
import time

import numpy as np

TYPES = {"float32": "f32", "int8": "i8", "uint8": "u8", "int16": "i16", "int32": "i32", "int64": "i64"}


def random_inputs(interpreter):
    rng, arrays = np.random.default_rng(0), []
    for detail in interpreter.get_input_details():
        shape, dtype = tuple(detail["shape"]), np.dtype(detail["dtype"])
        if dtype.kind == "f":
            arrays.append(rng.uniform(-1, 1, shape).astype(dtype))
        else:
            most = np.iinfo(dtype).max if dtype.itemsize == 1 else 99
            arrays.append(rng.integers(most - 99, most + 1, shape).astype(dtype))
    return arrays


def tenon(file, threads, arrays):
    from engines import ABI, Head, Tenon, Tensor

    made = Tenon()
    made.load(file, {}, {}, threads)
    for k, array in enumerate(arrays):
        shape = (ctypes.c_int64 * 8)(*array.shape)
        dtype = made.lib.tn_dtype_parse(TYPES[array.dtype.name].encode())
        t = Tensor(Head(ctypes.sizeof(Tensor), *ABI), array.ctypes.data, 0, dtype, array.ndim, shape)
        made.check(made.lib.tn_session_set_input(made.session, k, ctypes.byref(t), made.diag))
        made.kept.append((array, t))
    made.run()  # an error is told here; the call alone is what is timed
    return functools.partial(made.lib.tn_session_run, made.session, ctypes.c_void_p(made.diag))


def worker(engine, file, threads):
    """Says that it is ready, then runs for as many seconds as each line asks for, and answers the
    median time of a run in us."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=file, num_threads=threads)
    interpreter.allocate_tensors()
    arrays = random_inputs(interpreter)
    for detail, array in zip(interpreter.get_input_details(), arrays):
        interpreter.set_tensor(detail["index"], array)
    run = tenon(file, threads, arrays) if engine == "tenon" else interpreter.invoke
    run()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        times, now = [], time.perf_counter_ns()
        end = now + float(line) * 1e9
        while now < end or len(times) < 3:
            run()
            then = time.perf_counter_ns()
            times.append(then - now)
            now = then
        print(json.dumps(statistics.median(times) / 1e3), flush=True)


def measure(file, args):
    """Rounds of medians, [LiteRT's, Tenon's] each; None: one of them cannot run it."""
    workers = []
    for engine in ("litert", "tenon"):
        command = [sys.executable, __file__, "--worker", engine, "-t", str(args.threads), file]
        workers.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True))
    rounds = []
    try:
        if not all(each.stdout.readline() for each in workers):
            return None
        for _ in range(args.rounds + 1):
            rounds.append([])
            for each in workers:
                print(args.slice, file=each.stdin, flush=True)
                rounds[-1].append(json.loads(each.stdout.readline()))
    finally:
        for each in workers:
            each.kill()
            each.wait()
    return rounds[1:]  # the first warms up


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("-t", "--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slice", type=float, default=0.3, help="seconds")
    parser.add_argument("--worker", choices=("litert", "tenon"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return worker(args.worker, args.files[0], args.threads)
    print(f"{'us on ' + str(args.threads) + ' threads':44} {'LiteRT':>10} {'Tenon':>10}  ratio")
    for file in args.files:
        rounds = measure(file, args)
        name = "/".join(file.split("/")[-2:])
        if not rounds:
            print(f"{name:44} one of the two cannot run it")
            continue
        theirs, ours = (statistics.median(each) for each in zip(*rounds))
        ratios = sorted(a / b for a, b in rounds)
        print(f"{name:44} {theirs:10.1f} {ours:10.1f}  {statistics.median(ratios):5.2f}"
              f"  {ratios[0]:.2f} .. {ratios[-1]:.2f}", flush=True)


if __name__ == "__main__":
    main()
