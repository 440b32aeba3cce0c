#!/usr/bin/env python3
"""Writes docs/benchmarks.md and its pictures from what bench/peers/run.py measured.

    build/peers/bin/python bench/peers/report.py build/bench/peers.json build/bench/busy.json -o docs
"""
import argparse
import json
import pathlib
import sys

from run import agrees, best_peer, geomean

NAMES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "mnn": "MNN", "ncnn": "ncnn", "litert": "LiteRT",
         "executorch": "ExecuTorch", "tenon": "Tenon"}


def table(header, rows):
    align = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, align, *rows]) + "\n"


def peers_of(results):
    return [name for name in NAMES if name != "tenon" and any(name in r["engines"] for r in results)]


def cell(row):
    """A ratio with its spread; what did not run is a dash, what differs is marked."""
    if "ratio" not in row:
        return "–"
    mark = "" if agrees(row) else " \\*"
    return f"{row['ratio']:.2f} ({row['ratio_low']:.2f}–{row['ratio_high']:.2f}){mark}"


def time_of(row):
    return f"{row['median_ns'] / 1e6:.3f}" if "median_ns" in row else "–"


def speed(results, peers):
    rows = []
    for result in results:
        engines = result["engines"]
        best = best_peer(engines, peers)
        mine = engines.get("tenon", {})
        mark = "" if mine.get("error", 0) <= 1 else " \\*"
        rows.append([result["model"], time_of(mine) + mark, *(cell(engines.get(p, {})) for p in peers),
                     f"{best:.2f}" if best else "–"])
    means = [[r["engines"][p]["ratio"] for r in results if agrees(r["engines"].get(p, {}))] for p in peers]
    best = [b for b in (best_peer(r["engines"], peers) for r in results) if b]
    rows.append(["**geometric mean**", "", *(f"**{geomean(m):.2f}** of {len(m)}" if m else "–" for m in means),
                 f"**{geomean(best):.2f}**" if best else "–"])
    return table(["model", "Tenon, ms", *(NAMES[p] for p in peers), "best peer"], rows)


def column(results, names, value):
    rows = [[r["model"], *(value(r["engines"][n]) if "first_ns" in r["engines"].get(n, {}) else "–" for n in names)]
            for r in results]
    return table(["model", *(NAMES[n] for n in names)], rows)


def beside_busy(results, names):
    """Times on all cores while something else keeps one of them busy, over the times on one quiet core."""
    alone = {r["model"]: r["engines"] for r in results if not r["busy"]}
    rows = []
    for result in (r for r in results if r["busy"]):
        before = alone.get(result["model"], {})
        rows.append([result["model"], *(
            f"{result['engines'][n]['median_ns'] / before[n]['median_ns']:.2f}"
            if "median_ns" in before.get(n, {}) and "median_ns" in result["engines"].get(n, {}) else "–" for n in names)])
    return table(["model", *(NAMES[n] for n in names)], rows)


def rounds_of(results):
    """How many rounds stand behind the figures: "5", or "5 to 7" where runs differ."""
    counts = [len(row["round_medians"]) for r in results for row in r["engines"].values() if "round_medians" in row]
    least, most = min(counts, default=0), max(counts, default=0)
    return str(least) if least == most else f"{least} to {most}"


def remarks(results, names):
    """A line for each engine and model; with the threads where only some of them have it."""
    found, counts = {}, {r["threads"] for r in results}
    for result in results:
        for name in names:
            row = result["engines"].get(name, {})
            if "failed" in row:
                said = f"did not run: `{row['failed']}`", 0
            elif row and row["error"] > 1:
                said = "\\* its outputs differ by {:.3g} times the tolerance", row["error"]
            else:
                continue
            threads, error = found.get((result["model"], name, said[0]), ([], 0))
            found[result["model"], name, said[0]] = [*threads, result["threads"]], max(error, said[1])
    lines = []
    for (model, name, said), (threads, error) in found.items():
        where = "" if set(threads) == counts else f", {threads[0]} thread{'s' * (threads[0] > 1)}"
        lines.append(f"- {model}, {NAMES[name]}{where}: {said.format(error) if error else said}")
    return "\n".join(lines) + "\n" if lines else "All engines ran all models, and agreed.\n"


def picture(results, peers, threads, folder):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    matplotlib.rcParams["svg.hashsalt"] = "tenon"  # the same figures give the same file
    figure, axes = plt.subplots(figsize=(9, 0.45 * len(results) + 1))
    height = 0.8 / len(peers)
    for k, peer in enumerate(peers):
        places = [i + (k - len(peers) / 2 + 0.5) * height for i in range(len(results))]
        axes.barh(places, [r["engines"].get(peer, {}).get("ratio", 0) for r in results], height, label=NAMES[peer])
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(range(len(results)), [r["model"] for r in results])
    axes.invert_yaxis()
    axes.set_xlabel(f"their time / Tenon's, {threads} thread{'s' * (threads > 1)}: right of the line Tenon is faster")
    axes.legend(loc="lower right")
    figure.tight_layout()
    name = f"benchmarks-{threads}.svg"
    figure.savefig(folder / name, metadata={"Date": None})
    plt.close(figure)
    return name


def quantised(results):
    peers = peers_of(results)
    text = """
## Quantised to int8

Pairs of QuantizeLinear and DequantizeLinear around every operator, weights of i8 with a scale per channel, activations of u8
(`bench/models/int8.py`); BERT: activations quantised at run time (MatMulInteger). Outputs may differ by 4 steps of 128 in the largest value.
Tenon has no kernels for AMX, OpenVINO has: on a machine with AMX it ran ResNet-50 in 0.62 of Tenon's time on one thread, 0.86 on two.
"""
    for threads in sorted({r["threads"] for r in results}):
        mine = [r for r in results if r["threads"] == threads]
        text += f"\n{threads} thread{'s' * (threads > 1)}:\n\n{speed(mine, peers)}"
    own = [r["engines"]["onnxruntime"]["error"] for r in results
           if r["model"].startswith("bert") and "error" in r["engines"].get("onnxruntime", {})]
    if own:
        text += f"""
BERT's ranges are found at run time, so that the last bit of a sum can move a value by a step in each of its layers: the outputs of ONNX Runtime with
and without optimisation are {max(own):.2f} times the tolerance apart.
"""
    return text + "\n" + remarks(results, ["tenon", *peers])


def page(data, busy, int8, folder):
    machine, results = data["machine"], data["results"]
    peers = peers_of(results)
    names = ["tenon", *peers]
    versions = {n: next((r["engines"][n]["version"] for r in results if "version" in r["engines"].get(n, {})), "did not run")
                for n in names}
    text = f"""# Benchmarks

Whole models, f32, batch 1, in Tenon and in its peers on the same machine in the same run. A ratio is their time divided by Tenon's: above 1
Tenon is faster, below 1 it is slower. This page is written by `bench/peers/report.py` from what `bench/peers/run.py` measured; nothing is left out.

- machine: {machine['cpu']}, {machine['cores']} cores, {machine['system']}
- versions: {", ".join(f"{NAMES[n]} {v}" for n, v in versions.items())}
- weights are random; the scripts in `bench/models` write the models from their architecture
- each engine holds the model in a process of its own, bound to as many cores as it has threads; in every round each runs for a slice
  while the others sleep. A ratio is the median over {rounds_of(results)} rounds (in parentheses the least and the largest), a time the median of all
  runs; a round before them warms up
- outputs are compared with those of ONNX Runtime without optimisation (1e-4 + 1e-3 of the value); peers that differ are marked, and are
  in no mean and nobody's best

To do it again:

```sh
bench/peers/setup
build/peers/bin/python bench/peers/run.py --convert
build/peers/bin/python bench/peers/run.py -t 1 -t 2
build/peers/bin/python bench/peers/run.py -t 2 --busy resnet50 mobilenet_v2
build/peers/bin/python bench/peers/run.py -t 1 -t 2 --int8
build/peers/bin/python bench/peers/report.py build/bench/peers.json build/bench/busy.json --int8 build/bench/int8.json -o docs
```
"""
    for threads in sorted({r["threads"] for r in results}):
        mine = [r for r in results if r["threads"] == threads]
        text += f"\n## {threads} thread{'s' * (threads > 1)}\n\n{speed(mine, peers)}"
        text += f"\n![ratios]({picture(mine, peers, threads, folder)})\n"
    if busy:
        text += """
## Two threads, and one of the two cores busy with something else

Times divided by those of the same engine on one thread of a quiet machine. 1: as fast as one quiet thread, the second one helps nothing;
below 1 it helps though its core is busy, above 1 it does harm.

""" + beside_busy(busy["results"], names)
    if int8:
        text += quantised(int8["results"])
    first = [r for r in results if r["threads"] == min(x["threads"] for x in results)]
    in_turn = any("start_ns" in row for r in first for row in r["engines"].values())
    how = ("The median of processes that only start, in turn, after a round that brings the files into memory." if in_turn else
           "Of one load each, one engine after the other: the first, Tenon, is the one that reads the model's file from the disk.")
    text += f"\n## Start-up: loading and the first run, ms\n\nOf the converted file, where an engine has a format of its own. {how}\n\n"
    text += column(first, names, lambda row: f"{row.get('start_ns', row['load_ns'] + row['first_ns']) / 1e6:.0f}")
    text += """
## Memory, MB

What is resident after the first run beyond what was before loading, and the most in between. Pages of a mapped model file count.

"""
    text += column(first, names, lambda row: f"{row['resident_kb'] / 1024:.0f} ({row['peak_kb'] / 1024:.0f})")
    return text + "\n## What did not run, and what differs\n\n" + remarks(results, names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, help="the peers.json of run.py")
    parser.add_argument("busy", nargs="?", type=pathlib.Path, help="the busy.json of run.py --busy")
    parser.add_argument("--int8", type=pathlib.Path, metavar="FILE", help="the int8.json of run.py --int8")
    parser.add_argument("-o", "--output", default="docs", type=pathlib.Path, metavar="DIR", help="where to (default: docs)")
    args = parser.parse_args()
    busy = json.loads(args.busy.read_text()) if args.busy else None
    int8 = json.loads(args.int8.read_text()) if args.int8 else None
    text = page(json.loads(args.results.read_text()), busy, int8, args.output)
    at = args.output / "benchmarks.md"
    mark = "\n## Start-up with AVX2 alone, ms\n"  # it stays, and what bench/devices/run.py writes behind it
    kept = at.read_text().partition(mark)[2] if at.exists() else ""
    at.write_text(text + (mark + kept if kept else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
