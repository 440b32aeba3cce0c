#!/usr/bin/env python3
"""Writes the benchmark models as ONNX files. Needs numpy and onnx; downloads nothing.

    python3 bench/models/build.py --list
    python3 bench/models/build.py -o build/bench resnet50 mobilenet_v2
"""
import argparse
import pathlib
import sys

import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import language
import vision

MODELS = {f.__name__: f for f in (
    vision.resnet18, vision.resnet50, vision.mobilenet_v1, vision.mobilenet_v2, vision.mobilenet_v3_small,
    vision.squeezenet_1_1, vision.efficientnet_lite0, vision.shufflenet_v2, vision.densenet121, vision.vgg16,
    vision.inception_v3, vision.yolo_416, vision.unet_256, vision.super_resolution_224, language.bert_base_128,
    language.vit_small, language.gpt2_prefill_128, language.gpt2_decode, language.lstm_lm, language.keyword_spotter)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which models (default: all)")
    parser.add_argument("-o", "--output", default="build/bench", metavar="DIR", help="where to (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="name the models, and end")
    args = parser.parse_args()
    if args.list:
        print("\n".join(MODELS))
        return 0
    unknown = [name for name in args.names if name not in MODELS]
    if unknown:
        print(f"build.py: there is no model {', '.join(unknown)}; --list names them", file=sys.stderr)
        return 2
    folder = pathlib.Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    for name in args.names or MODELS:
        model = MODELS[name]()
        onnx.checker.check_model(model)
        partial = folder / f"{name}.onnx.part"
        onnx.save(model, partial)
        partial.replace(folder / f"{name}.onnx")
        print(f"{folder / name}.onnx: {len(model.graph.node)} nodes, {size_of(folder / f'{name}.onnx')}", flush=True)
    return 0


def size_of(path):
    return f"{path.stat().st_size / 1e6:.1f} MB"


if __name__ == "__main__":
    sys.exit(main())
