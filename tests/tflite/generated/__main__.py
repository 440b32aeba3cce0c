#!/usr/bin/env python3
"""Random TFLite models, operator by operator and in small networks, with odd options: what Tenon
answers against LiteRT. Needs ai-edge-litert and numpy; run by hand:
    python3 tests/tflite/generated TENON FOLDER [--n N] [--seed S] [--only FAMILY...]
FOLDER gets the models that do not agree; a table goes to standard output."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import warnings

import numpy as np

import windows  # noqa: F401
import products  # noqa: F401
import pointwise  # noqa: F401
import moves  # noqa: F401
import tables  # noqa: F401
import recurrent  # noqa: F401
import stablehlo  # noqa: F401
import networks  # noqa: F401

from model import Model, families, load_schema


def answers(data, feeds, signature_dims):
    """What LiteRT makes of it, or None."""
    from ai_edge_litert.interpreter import Interpreter

    run = Interpreter(model_content=data, num_threads=1)
    for d, x in zip(run.get_input_details(), feeds):
        if list(d["shape"]) != list(x.shape):
            run.resize_tensor_input(d["index"], x.shape)
    run.allocate_tensors()
    for d, x in zip(run.get_input_details(), feeds):
        run.set_tensor(d["index"], x)
    run.invoke()
    return [run.get_tensor(d["index"]) for d in run.get_output_details()]


def build(name, seed, folder):
    """Writes a model with what LiteRT makes of it; in a child, as LiteRT may end it."""
    schema = load_schema()
    m = Model(np.random.RandomState(seed), schema)
    families[name](m)
    feeds = m.feeds
    if getattr(m, "open", False) and m.pick(0, 1):
        feeds = [np.concatenate([x, x[:1]]) for x in feeds]
    data = m.bytes(1)
    why = None
    for version in (1, 4, 8):
        try:
            outs = answers(m.bytes(version), feeds, None)
            data = m.bytes(version)
            break
        except (RuntimeError, ValueError) as e:
            why = str(e)
    else:
        return why.splitlines()[0]
    (folder / "ref").mkdir(parents=True)
    (folder / "model.tflite").write_bytes(data)
    for k, x in enumerate(feeds):
        np.save(folder / "ref" / f"set0_in{k}.npy", x)
    for k, y in enumerate(outs):
        np.save(folder / "ref" / f"set0_out{k}.npy", y)
    return None


def in_child(name, seed, folder):
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        why = ""
        try:
            why = build(name, seed, folder) or ""
        except Exception as e:  # a fault of this script
            why = f"! {type(e).__name__} {e}"
        os.write(write, why.encode()[:300])
        os._exit(0)
    os.close(write)
    text = os.read(read, 400).decode()
    os.close(read)
    status = os.waitpid(pid, 0)[1]
    return "LiteRT ended by a signal" if status else text


def main():
    warnings.simplefilter("ignore")
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("tenon")
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--n", type=int, default=50, help="models of each family")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--only", nargs="*", help="families")
    a = p.parse_args()
    load_schema()
    import ai_edge_litert.interpreter  # noqa: F401  once for all children

    total = 0
    for name in a.only or families:
        root = a.folder / name
        shutil.rmtree(root, ignore_errors=True)
        refused = {}
        for seed in range(a.seed, a.seed + a.n):
            why = in_child(name, seed, root / str(seed))
            if why:
                refused[seed] = why
                shutil.rmtree(root / str(seed), ignore_errors=True)
        out = subprocess.run(
            [a.tenon, "test", str(root), "--json", "-", "--quiet"], capture_output=True, text=True
        )
        rows = json.loads(out.stdout)
        total += report(name, rows, refused, root)
    sys.exit(total > 0)


def report(name, rows, refused, root):
    cases = rows["cases"] if isinstance(rows, dict) else rows
    bad = [
        c
        for c in cases
        if c["outcome"] != "pass" and not c["reason"].endswith("largest difference 1")
    ]
    steps = sum(c["outcome"] != "pass" for c in cases) - len(bad)
    for c in cases:
        if c["outcome"] == "pass":
            shutil.rmtree(root / pathlib.Path(c["case"]).name, ignore_errors=True)
    print(
        f"{name:16} {len(cases) - len(bad)} of {len(cases)} agree, {steps} to a step;",
        f"LiteRT refuses {len(refused)}",
        flush=True,
    )
    for why in sorted({w for w in refused.values()}):
        if why.startswith("!"):
            print("    ", why[:160])
    for c in bad:
        print(
            "    ", c["outcome"], c["case"].split("/")[-1], c.get("reason", "")[-170:], flush=True
        )
    return len(bad)


if __name__ == "__main__":
    main()
