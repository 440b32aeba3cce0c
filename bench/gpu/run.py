#!/usr/bin/env python3
"""Times models on a GPU of NVIDIA in Tenon and in PyTorch, alternating, and prints a table.

    python3 bench/gpu/run.py --tenon build/tenon --models build/bench -o build/gpu.json

PyTorch runs the same nets by its own modules, captured in a CUDA graph, TF32 off, and where --compile is
given as torch.compile makes them too. A run is what a user waits for: inputs are copied to the device and
outputs back, in both, but for the keys and values of a decoder, which stay on the device in both.
Needs torch, torchvision and transformers; models that are not in the folder are built.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "models"))
TYPES = {"f32": torch.float32, "f16": torch.float16}


def resnet50(dtype, batch):
    import torchvision
    return torchvision.models.resnet50(), [torch.randn(batch, 3, 224, 224, dtype=dtype)]


def bert_base_128(dtype, batch):
    import transformers
    net = transformers.BertModel(transformers.BertConfig(), add_pooling_layer=False)
    ids = torch.randint(0, 30000, (batch, 128))
    return net, [ids, torch.ones_like(ids), torch.zeros_like(ids)]


class Decoder(torch.nn.Module):
    """GPT-2 124M: one token behind `past` cached ones."""

    def __init__(self, past=128, n=768, layers=12, heads=12, words=50257):
        super().__init__()
        self.n, self.heads = n, heads
        self.words = torch.nn.Embedding(words, n)
        self.place = torch.nn.Parameter(torch.randn(1, 1, n))
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(n) for _ in range(2 * layers + 1))
        self.qkv = torch.nn.ModuleList(torch.nn.Linear(n, 3 * n) for _ in range(layers))
        self.out = torch.nn.ModuleList(torch.nn.Linear(n, n) for _ in range(layers))
        self.up = torch.nn.ModuleList(torch.nn.Linear(n, 4 * n) for _ in range(layers))
        self.down = torch.nn.ModuleList(torch.nn.Linear(4 * n, n) for _ in range(layers))
        cache = torch.randn(2 * layers, 1, heads, past, n // heads)
        self.register_buffer("cache", cache)

    def forward(self, ids):
        x = self.words(ids) + self.place
        kept = []
        for i, qkv in enumerate(self.qkv):
            q, k, v = (t.view(1, 1, self.heads, -1).transpose(1, 2) for t in qkv(self.norms[2 * i](x)).split(self.n, 2))
            k = torch.cat([self.cache[2 * i], k], 2)
            v = torch.cat([self.cache[2 * i + 1], v], 2)
            kept += [k, v]
            y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
            x = x + self.out[i](y.transpose(1, 2).reshape(1, 1, self.n))
            y = torch.nn.functional.gelu(self.up[i](self.norms[2 * i + 1](x)), approximate="tanh")
            x = x + self.down[i](y)
        return torch.nn.functional.linear(self.norms[-1](x), self.words.weight), kept


def gpt2_decode(dtype, batch):
    del dtype, batch
    return Decoder(), [torch.zeros(1, 1, dtype=torch.int64)]


# Inputs and outputs that stay on the device.
STAY = {"gpt2_decode": ["past_*", "k_*", "v_*"]}
NETS = {f.__name__: f for f in (resnet50, bert_base_128, gpt2_decode)}


class Peer:
    """A net in PyTorch, in a CUDA graph."""

    def __init__(self, name, dtype, compiled):
        net, inputs = NETS[name](TYPES[dtype], 1)
        net = net.to("cuda", TYPES[dtype]).eval()
        if name == "resnet50" and dtype == "f16":
            net = net.to(memory_format=torch.channels_last)
        self.host = [t.pin_memory() for t in inputs]
        self.inputs = [t.cuda() for t in inputs]
        run = torch.compile(net, mode="max-autotune-no-cudagraphs") if compiled else net
        stream = torch.cuda.Stream()
        with torch.no_grad(), torch.cuda.stream(stream):
            for _ in range(3):
                self.first(run(*self.inputs))
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, stream=stream):
                self.output = self.first(run(*self.inputs))
        self.out = torch.empty_like(self.output, device="cpu").pin_memory()

    @staticmethod
    def first(outputs):
        return outputs if isinstance(outputs, torch.Tensor) else outputs[0]

    def step(self):
        for there, here in zip(self.inputs, self.host):
            there.copy_(here, non_blocking=True)
        self.graph.replay()
        self.out.copy_(self.output, non_blocking=True)
        torch.cuda.synchronize()

    def time(self, seconds):
        times, end = [], time.perf_counter() + seconds
        while len(times) < 5 or time.perf_counter() < end:
            begin = time.perf_counter()
            self.step()
            times.append(time.perf_counter() - begin)
        return statistics.median(times) * 1e3


def tenon_time(args, name, path, seconds):
    stay = [word for pattern in STAY.get(name, []) for word in ("--on-device", pattern)]
    done = subprocess.run([args.tenon, "bench", path, "--device", args.device, "--fallback", "warn", "--time",
                           str(seconds), "--brief", "--json", *stay], capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return None
    report = json.loads(done.stdout)
    return {key: report[key] for key in ("runs", "ns", "flops")}


def model_path(args, name, dtype):
    path = pathlib.Path(args.models) / f"{name}{'' if dtype == 'f32' else '.' + dtype}.onnx"
    if not path.exists():
        plain = pathlib.Path(args.models) / f"{name}.onnx"
        if not plain.exists():
            subprocess.run([sys.executable, HERE.parent / "models" / "build.py", "-o", args.models, name], check=True)
        if dtype != "f32":
            subprocess.run([sys.executable, HERE.parent / "models" / "half.py", plain, "-o", path, "--type", dtype], check=True)
    return str(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NETS)} (default: all)")
    parser.add_argument("--tenon", default="build/tenon")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--models", default="build/bench", help="folder of models (default: %(default)s)")
    parser.add_argument("--types", nargs="+", default=list(TYPES), choices=TYPES)
    parser.add_argument("--compile", action="store_true", help="torch.compile too")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--time", type=float, default=0.7, help="seconds in each round (default: %(default)s)")
    parser.add_argument("-o", "--output", help="JSON of all that was measured")
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    rows = []
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, median ms of a run, batch 1")
    print(f"{'model':16} {'type':4} {'Tenon':>9} {'graph':>9} {'compile':>9}  PyTorch / Tenon")
    for name in args.names or NETS:
        for dtype in args.types:
            path = model_path(args, name, dtype)
            peers = {"graph": Peer(name, dtype, False)}
            if args.compile:
                peers["compile"] = Peer(name, dtype, True)
            row = {"model": name, "type": dtype, "rounds": []}
            for _ in range(args.rounds):
                there = tenon_time(args, name, path, args.time)
                row["rounds"].append({"tenon": there, **{k: p.time(args.time) for k, p in peers.items()}})
            rows.append(row)
            say(row)
    if args.output:
        pathlib.Path(args.output).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0


def ms_of(report):
    """Of `tenon bench --json`."""
    return report["ns"]["median"] / 1e6 if report else float("nan")


def say(row):
    rounds = row["rounds"]
    ours = statistics.median(ms_of(r["tenon"]) for r in rounds)
    peers = {k: statistics.median(r[k] for r in rounds) for k in rounds[0] if k != "tenon"}
    ratios = [statistics.median(r[k] / ms_of(r["tenon"]) for r in rounds) for k in peers]
    shown = "".join(f"{peers[k]:9.3f} " if k in peers else f"{'-':>9} " for k in ("graph", "compile"))
    print(f"{row['model']:16} {row['type']:4} {ours:9.3f} {shown} {' '.join(f'{r:.2f}' for r in ratios)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
