#!/usr/bin/env python3
"""torch.compile with several backends on the same models, taking turns: a table of the shortest
times of a call, and of the first one. Needs tenon, torch, torchvision and onnxscript.

usage: torch_backends.py [SECONDS PER MODEL]"""

import sys
import time

import torch
import torchvision

import tenon.torch  # noqa: F401

BACKENDS = ["eager", "inductor", "tenon"]


def models():
    layer = torch.nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
    yield "MLP 64-256-10", torch.nn.Sequential(
        torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)
    ), torch.rand(1, 64)
    yield "transformer 128x4, 64 tokens", torch.nn.TransformerEncoder(
        layer, 4, enable_nested_tensor=False
    ), torch.rand(1, 64, 128)
    yield "ResNet-18", torchvision.models.resnet18(), torch.rand(1, 3, 224, 224)
    yield "MobileNet-V3 small", torchvision.models.mobilenet_v3_small(), torch.rand(1, 3, 224, 224)


def timed(run, x):
    begin = time.perf_counter()
    run(x)
    return time.perf_counter() - begin


def measure(model, x, seconds):
    torch._dynamo.reset()
    model = model.eval()
    options = {"tenon": {"fallback": "forbid"}}
    runs = {b: torch.compile(model, backend=b, options=options.get(b)) for b in BACKENDS}
    first = {b: timed(run, x) for b, run in runs.items()}
    best = {b: timed(run, x) for b, run in runs.items()}
    for b, run in runs.items():
        torch.testing.assert_close(run(x), model(x), rtol=1e-3, atol=1e-3)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for b, run in runs.items():
            best[b] = min(best[b], timed(run, x))
    return first, best


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5
    torch.set_num_threads(1)
    torch.manual_seed(1)
    print("| model | " + " | ".join(f"{b}, ms (first call, s)" for b in BACKENDS) + " |")
    print("|---|" + "--:|" * len(BACKENDS))
    with torch.no_grad():
        for name, model, x in models():
            first, best = measure(model, x, seconds)
            cells = [f"{1e3 * best[b]:.3f} ({first[b]:.1f})" for b in BACKENDS]
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


main()
