#!/usr/bin/env python3
"""Which share of each model's work a device does: usage: shares.py TENON FOLDER DEVICE...

FOLDER is that of the test material (onnx-models, onnx-node/light, tflite-models, caffe, tensorflow,
torchscript). A line for each model: nodes and FLOPs there, segments, and what stays on the CPU. With
--part=all, models that are wholly there have a line, too.
"""
import argparse
import collections
import glob
import json
import os
import subprocess

PATTERNS = ("onnx-models/*/model.onnx", "onnx-node/light/*.onnx", "tflite-models/*/*.tflite",
            "caffe/*/weights.caffemodel", "tensorflow/*/frozen.pb", "tensorflow/*/saved_model.pb",
            "torchscript/*/model.pt")


def inputs_of(model):
    """Options that give stored inputs, so that open dims and parts that depend on data are known."""
    folder = os.path.dirname(model)
    if os.path.isdir(f"{folder}/test_data_set_0"):
        return ["-i", f"{folder}/test_data_set_0"]
    files = sorted(glob.glob(f"{folder}/ref/set0_in*.npy"))
    return [word for file in files for word in ("-i", file)]


def explain(tenon, model, device):
    command = [tenon, "explain", model, "--device", device, "--fallback", "warn", "--json"]
    done = subprocess.run(command + inputs_of(model), capture_output=True, text=True)
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or ["?"])[-1]
    return json.loads(done.stdout), None


def line_of(plan, device):
    by_device = {d["device"]: d for d in plan["placement"]["devices"]}
    there, here = by_device.get(device), by_device.get("cpu")
    flops = sum(d["flops"] for d in by_device.values())
    on_cpu = collections.Counter(s["op"] for s in plan["steps"]
                                 if s["device"] == "cpu" and s["op"] != "Transfer")
    nodes = there["nodes"] if there else 0
    share = 100 * (there["flops"] if there else 0) / flops if flops else 100 * (not here)
    text = (f"{nodes} of {nodes + (here['nodes'] if here else 0)} nodes, {share:.1f} % of "
            f"{flops / 1e6:.4g} MFLOP, {there['segments'] if there else 0} segments")
    stays = ", ".join(f"{op} x{n}" for op, n in on_cpu.most_common())
    return share, f"{text}; on the CPU: {stays}" if stays else text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tenon")
    parser.add_argument("folder")
    parser.add_argument("devices", nargs="+")
    parser.add_argument("--part", choices=("some", "all"), default="some")
    given = parser.parse_args()
    models = [m for p in PATTERNS for m in sorted(glob.glob(os.path.join(given.folder, p)))]
    for device in given.devices:
        whole = 0
        for model in models:
            name = os.path.relpath(model, given.folder)
            plan, error = explain(given.tenon, model, device)
            share, text = (0, f"not run: {error}") if error else line_of(plan, device)
            is_whole = share == 100 and "on the CPU" not in text
            whole += is_whole
            if given.part == "all" or not is_whole:
                print(f"{device}  {name}: {text}", flush=True)
        print(f"{device}: {whole} of {len(models)} models are wholly there")


if __name__ == "__main__":
    main()
