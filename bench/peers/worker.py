"""One engine with one model in a process of its own; obeys lines on stdin, answers JSON on stdout.

    convert ENGINE MODEL INPUTS.npz          makes the files that the engine needs
    load ENGINE MODEL INPUTS.npz THREADS STEPS  loads, and runs once; STEPS: see compare()
    slice SECONDS                            runs for that long, answers the time of each run in ns
    quit
Commands that fail answer {"failed": why}. What engines print goes to stderr.
"""
import gc
import json
import os
import pathlib
import sys
import time

import numpy as np


def compare(got, expected, steps):
    """Largest error in units of the tolerance 1e-4 + 1e-3 |expected|, or, if steps is not 0, of so many
    128ths of the largest value; infinite where only one is NaN."""
    worst = 0.0
    for a, b in zip(got, expected, strict=True):
        a = np.asarray(a).reshape(b.shape)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        tolerance = steps / 128 * np.max(np.abs(b), initial=0) if steps else 1e-4 + 1e-3 * np.abs(b)
        error = np.where(same, 0, np.abs(a - b) / tolerance)
        worst = max(worst, float(np.max(np.nan_to_num(error, nan=np.inf), initial=0)))
    return worst


def read(inputs):
    """The inputs of a model, and the outputs expected of it, by name and in order."""
    arrays = np.load(inputs)
    kinds = {"input/": {}, "output/": {}}
    for name in arrays:
        kind, rest = name[:name.index("/") + 1], name[name.index("/") + 1:]
        kinds[kind][rest] = arrays[name]
    return kinds["input/"], kinds["output/"]


def resident_kb(line):
    """VmRSS (what is resident now) or VmHWM (the most since the last reset) of this process."""
    with open("/proc/self/status") as status:
        return int(next(each for each in status if each.startswith(line)).split()[1])


def convert(engine, model, inputs):
    from engines import ENGINES
    made = ENGINES[engine]()
    if hasattr(made, "convert"):
        made.convert(pathlib.Path(model), read(inputs)[0])
    return {}


def load(engine, model, inputs, threads, steps):
    from engines import ENGINES
    path, (arrays, expected) = pathlib.Path(model), read(inputs)
    shapes = {name: array.shape for name, array in expected.items()}
    made = ENGINES[engine]()
    if hasattr(made, "convert"):
        made.convert(path, arrays)  # not in what is timed
    gc.collect()
    with open("/proc/self/clear_refs", "w") as clear:
        clear.write("5")  # the most so far starts again
    before = resident_kb("VmRSS")
    begin, work = time.perf_counter_ns(), time.process_time_ns()
    made.load(path, arrays, shapes, int(threads))
    loaded = time.perf_counter_ns()
    made.run()
    ran, work = time.perf_counter_ns(), time.process_time_ns() - work
    outputs = made.results()
    peak, after = resident_kb("VmHWM"), resident_kb("VmRSS")
    return made, {"version": made.version, "load_ns": loaded - begin, "first_ns": ran - loaded, "start_work_ns": work,
                  "error": compare(outputs, expected.values(), int(steps)), "peak_kb": peak - before, "resident_kb": after - before}


def slice_of(made, seconds):
    times, end = [], time.perf_counter_ns() + int(float(seconds) * 1e9)
    now = time.perf_counter_ns()
    while now < end or len(times) < 3:
        made.run()
        then = time.perf_counter_ns()
        times.append(then - now)
        now = then
    return times


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    made = None
    for line in sys.stdin:
        words = line.split()
        try:
            if words[0] == "convert":
                answer = convert(*words[1:])
            elif words[0] == "load":
                made, answer = load(*words[1:])
            elif words[0] == "slice":
                answer = slice_of(made, words[1])
            else:
                return
        except Exception as problem:  # whatever an engine throws is an answer
            answer = {"failed": f"{type(problem).__name__}: {problem}".splitlines()[0][:200]}
        print(json.dumps(answer), file=answers, flush=True)


main()
