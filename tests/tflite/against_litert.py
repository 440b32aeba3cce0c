#!/usr/bin/env python3
"""Runs models of a folder (MODE/NAME/model.tflite) on random inputs with LiteRT, keeps its answers
beside them, and prints how many Tenon agrees with. Needs ai-edge-litert; run by hand:
    python3 tests/tflite/against_litert.py TENON FOLDER"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np


def numbers(r, d):
    if d["dtype"] in (np.int8, np.uint8, np.int16):
        i = np.iinfo(d["dtype"])
        return r.randint(i.min, i.max + 1, d["shape"]).astype(d["dtype"])
    if d["dtype"] == np.bool_:
        return r.randint(0, 2, d["shape"]).astype(bool)
    if np.issubdtype(d["dtype"], np.integer):
        return r.randint(0, 8, d["shape"]).astype(d["dtype"])
    return r.uniform(-2, 2, d["shape"]).astype(d["dtype"])


def answer(folder):
    from ai_edge_litert.interpreter import Interpreter

    run = Interpreter(model_path=str(folder / "model.tflite"), num_threads=1)
    run.allocate_tensors()
    r = np.random.RandomState(1)
    (folder / "ref").mkdir(exist_ok=True)
    for k, d in enumerate(run.get_input_details()):
        x = numbers(r, d)
        run.set_tensor(d["index"], x)
        np.save(folder / "ref" / f"set0_in{k}.npy", x)
    run.invoke()
    for k, d in enumerate(run.get_output_details()):
        np.save(folder / "ref" / f"set0_out{k}.npy", run.get_tensor(d["index"]))


def in_child(folder):
    """LiteRT may end its process."""
    pid = os.fork()
    if not pid:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            answer(folder)
            os._exit(0)
        except Exception:
            os._exit(1)
    return not os.waitpid(pid, 0)[1]


def main():
    tenon, root = sys.argv[1], pathlib.Path(sys.argv[2])
    import ai_edge_litert.interpreter  # noqa: F401  once for all children

    for mode in sorted(p for p in root.iterdir() if p.is_dir()):
        cases = sorted(mode.iterdir())
        ran = [c for c in cases if in_child(c)]
        agree, rest = 0, []
        for c in ran:
            out = subprocess.run(
                [tenon, "test", str(c), "--json", "-", "--quiet"], capture_output=True, text=True
            )
            try:
                rows = json.loads(out.stdout)
                case = (rows["cases"] if isinstance(rows, dict) else rows)[0]
            except (ValueError, IndexError):
                case = {"outcome": f"ended with {out.returncode}", "reason": out.stderr[-200:]}
            agree += case["outcome"] == "pass"
            if case["outcome"] != "pass":
                rest.append((c.name, case["outcome"], case["reason"][-200:]))
        print(f"{mode.name:10} {agree} of {len(ran)} agree; LiteRT refuses {len(cases) - len(ran)}")
        for row in rest:
            print("    ", *row)


if __name__ == "__main__":
    main()
