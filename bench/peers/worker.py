"""One engine with one model in a process of its own; obeys lines on stdin, answers JSON on stdout.

    convert ENGINE MODEL INPUTS.npz          makes the files that the engine needs
    load ENGINE MODEL INPUTS.npz THREADS     loads, and runs once
    slice SECONDS                            runs for that long, answers the time of each run in ns
    quit
Commands that fail answer {"error": why}. What engines print goes to stderr.
"""
import json
import os
import resource
import sys
import time

import numpy as np


def compare(got, expected):
    """Largest error in units of the tolerance 1e-4 + 1e-3 |expected|."""
    worst = 0.0
    for a, b in zip(got, expected, strict=True):
        a = np.asarray(a).reshape(b.shape)
        worst = max(worst, float(np.max(np.abs(a - b) / (1e-4 + 1e-3 * np.abs(b)), initial=0)))
    return worst


def read(inputs):
    """The inputs of a model by name, and the outputs expected of it in order."""
    arrays = dict(np.load(inputs))
    return arrays, [arrays.pop(f"expected_{k}") for k in range(sum(n.startswith("expected_") for n in arrays))]


def convert(engine, model, inputs):
    from engines import ENGINES
    made = ENGINES[engine]()
    if hasattr(made, "convert"):
        made.convert(model, read(inputs)[0])
    return {}


def load(engine, model, inputs, threads):
    from engines import ENGINES
    arrays, expected = read(inputs)
    made = ENGINES[engine]()
    if hasattr(made, "convert"):
        made.convert(model, arrays)  # not in what is timed
    begin = time.perf_counter_ns()
    made.load(model, arrays, int(threads))
    loaded = time.perf_counter_ns()
    outputs = made.run()
    ran = time.perf_counter_ns()
    error = compare(outputs, expected) if expected else None
    return made, {"version": made.version(), "load_ns": loaded - begin, "first_ns": ran - loaded, "error": error,
                  "peak_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


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
