#!/usr/bin/env python3
"""Images for a Cortex-M4 of one model by Tenon and by peers: as rows of a table.

usage: peers.py TENON MODEL.onnx...
Needs gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-system-arm; a peer that is not there is left out:
  EMX      the command of `pip install emx-onnx-cgen` (PyPI)
  ONNX2C   the program of https://github.com/kraiskil/onnx2c: git clone --recursive, cmake, needs protobuf-compiler
           and libprotobuf-dev
TFLite Micro with CMSIS-NN takes other files: build its benchmark `make -f tensorflow/lite/micro/tools/make/Makefile
TARGET=cortex_m_generic OPTIMIZED_KERNEL_DIR=cmsis_nn` and run it on the same board.
All get the same program, which runs the model once on zeros; nobody looks at its outputs. The columns are model, tool,
flash (code and constants), RAM (data and bss) and instructions. The stack comes on top of the RAM, and a peer may keep
its values there. Instructions are counted by QEMU, up to 671 million, and are not cycles."""
import os
import re
import subprocess
import sys
import tempfile

BOARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/keyword_spotter_mcu/board")
FLAGS = ["-std=c11", "-O2", "-w", "-ffp-contract=off", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16",
         "-ffunction-sections", "-fdata-sections", "-nostartfiles", "--specs=nano.specs", "--specs=nosys.specs",
         "-Wl,--gc-sections", "-Wl,--no-warn-rwx-segments", "-T", f"{BOARD}/mps2.ld"]


def call(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def by_tenon(model, folder):
    call(sys.argv[1], "emit-c", model, "-o", folder)
    return ["model.c", "weights.c"], "model_run", open(f"{folder}/model.h").read(), '#include "model.h"\n'


def by_emx(model, folder):
    call(os.environ["EMX"], "compile", "--model-name", "net", "--large-temp-threshold", "0",
         "--large-weight-threshold", "0", "--fp32-accumulation-strategy", "simple", model, "net.c", cwd=folder)
    return ["net.c"], "net", open(f"{folder}/net.c").read(), ""


def by_onnx2c(model, folder):
    text = call(os.environ["ONNX2C"], model)
    open(f"{folder}/net.c", "w").write(text)
    return ["net.c"], "entry", text, ""


def main_of(function, text, head):
    """A program that calls the function with arrays of zeros."""
    arguments = re.findall(rf"\b{function}\s*\(([^)]*)\)\s*[;{{]", text)[-1].split(",")
    arrays, names = [], []
    for k, argument in enumerate(arguments):
        argument = re.sub(r"\b(const|restrict)\b", "", argument).strip()
        kind, _, dims = re.match(r"(\w+)\s+(\w+)\s*(.*)", argument, re.S).groups()
        arrays.append(f"static {kind} a{k}{dims};")
        names.append(f"a{k}")
    declare = "" if head else f"void {function}();"
    return f"{head}#include <stdint.h>\n{declare}\n" + "\n".join(arrays) + \
        f"\nint main(void) {{ {function}({', '.join(names)}); return 0; }}\n"


def row(tool, make, model):
    with tempfile.TemporaryDirectory() as folder:
        sources, function, text, head = make(model, folder)
        open(f"{folder}/main.c", "w").write(main_of(function, text, head))
        image = f"{folder}/image.elf"
        call("arm-none-eabi-gcc", *FLAGS, "-DCOUNT", f"{BOARD}/boot.c", "main.c", *sources, "-lm", "-o", image,
             cwd=folder)
        text, data, bss = (int(n) for n in call("arm-none-eabi-size", image).split("\n")[1].split()[:3])
        run = subprocess.run(["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-semihosting", "-icount", "shift=0",
                              "-kernel", image], capture_output=True, text=True, timeout=600)
        ticks = re.findall(r"\d+", run.stdout + run.stderr)
        millions = f"{int(ticks[0]) * 40 / 1e6:.2f} M" if run.returncode == 0 and ticks else "does not run"
        print(f"| {os.path.basename(os.path.dirname(model))} | {tool} | {text} | {data + bss} | {millions} |", flush=True)


for path in sys.argv[2:]:
    for tool, make in (("Tenon", by_tenon), ("emx", by_emx), ("onnx2c", by_onnx2c)):
        if tool != "Tenon" and not os.environ.get(tool.upper()):
            print(f"{tool} is left out: {tool.upper()} does not name it", file=sys.stderr)
            continue
        try:
            row(tool, make, os.path.abspath(path))
        except (subprocess.CalledProcessError, IndexError, subprocess.TimeoutExpired) as error:
            why = (getattr(error, "stderr", "") or str(error)).strip().split("\n")[-1]
            print(f"{tool}: {path}: {why}", file=sys.stderr)
