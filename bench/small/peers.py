#!/usr/bin/env python3
"""Images for a Cortex-M4 of one model by Tenon and by peers: as rows of a table.

usage: peers.py TENON MODEL...         other formats than ONNX are converted by Tenon
Needs gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-system-arm; a peer that is not there is left out:
  EMX      the command of `pip install emx-onnx-cgen` (PyPI)
  ONNX2C   the program of https://github.com/kraiskil/onnx2c: git clone --recursive, cmake -DCMAKE_BUILD_TYPE=Release,
           target onnx2c; needs protobuf-compiler and libprotobuf-dev. It takes no Reshape with allowzero: where Python
           has the package onnx, the attribute is taken out of its file
  TFLM     the folder of sources that tflm.sh names: TensorFlow Lite Micro with CMSIS-NN, for .tflite files of the
           operators of MLPerf Tiny. It runs the file, which is in its flash, by an interpreter; its stack is that of a run
ExecuTorch runs files of its own, which its Python package exports from models of PyTorch, so that it has no rows here:
executorch.sh builds its runtime without operators.
All get the same program, which runs the model once on the same inputs. The columns are model, tool, flash (code and
constants), RAM (data and bss, with inputs and outputs), stack, instructions, and how far the first outputs are from those of
Tenon: a peer that computes something else is not comparable. Instructions are counted by QEMU, up to 671 million, and
are not cycles. CONTRACT=fast lets the compiler round a product and a sum once."""
import os
import re
import struct
import subprocess
import sys
import tempfile

BOARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/keyword_spotter_mcu/board")
FLAGS = ["-std=c11", "-O2", "-w", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16",
         f"-ffp-contract={os.environ.get('CONTRACT', 'off')}", "-ffunction-sections", "-fdata-sections",
         "-nostartfiles", "--specs=nano.specs", "--specs=nosys.specs", "-Wl,--gc-sections",
         "-Wl,--no-warn-rwx-segments", "-T", f"{BOARD}/mps2.ld"]


def call(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def by_tenon(model, folder):
    call(sys.argv[1], "emit-c", model, "-o", folder)
    return ["model.c", "weights.c"], "model_run", open(f"{folder}/model.h").read(), '#include "model.h"\n'


def by_emx(model, folder):
    call(os.environ["EMX"], "compile", "--model-name", "net", "--large-temp-threshold", "0",
         "--large-weight-threshold", "0", "--fp32-accumulation-strategy", "simple", model, "net.c", cwd=folder)
    return ["net.c"], "net", open(f"{folder}/net.c").read(), ""


def without_allowzero(model, folder):
    """The model without that attribute of Reshape; as it is, where there is no package onnx."""
    try:
        import onnx
    except ImportError:
        return model
    m = onnx.load(model)
    for node in m.graph.node:
        for attribute in [a for a in node.attribute if node.op_type == "Reshape" and a.name == "allowzero"]:
            node.attribute.remove(attribute)
    onnx.save(m, f"{folder}/plain.onnx")
    return f"{folder}/plain.onnx"


def by_onnx2c(model, folder):
    model = without_allowzero(model, folder)
    text = call(os.environ["ONNX2C"], model)
    open(f"{folder}/net.c", "w").write(text)
    return ["net.c"], "entry", text, ""


STACK = 3 << 20  # bytes that are painted before the model runs
PROGRAM = """#include <stdint.h>
#include "board.h"
static uint32_t bits(float x) { union { float f; uint32_t u; } v = {x}; return v.u; }
int main(void) {
  uint32_t here, left = 0;
  uint32_t *bottom = &here - %d / 4;
  for (uint32_t *p = bottom; p < &here - 64; p++) *(volatile uint32_t *)p = 0xa5a5a5a5u;
  %s
  board_timer_start();
  %s(%s);
  const uint32_t ticks = board_timer_ticks();
  while (bottom[left] == 0xa5a5a5a5u) left++;
  board_print_number(ticks);
  board_print(" ");
  board_print_number(%d - 4 * left);
  %s
  board_print("\\n");
  return 0;
}
"""


def main_of(function, text, head):
    """A program that calls the function, and prints the bytes of stack and the bits of its first outputs; their type."""
    outputs, arguments = "float", re.findall(rf"\b{function}\s*\(([^)]*)\)\s*[;{{]", text)[-1].split(",")
    arrays, names, fill, show = [], [], "", ""
    for k, argument in enumerate(arguments):
        is_input = "const" in argument
        argument = re.sub(r"\b(const|restrict)\b", "", argument).strip()
        kind, _, dims = re.match(r"(\w+)\s+(\w+)\s*(.*)", argument, re.S).groups()
        arrays.append(f"static {kind} a{k}{dims};")
        names.append(f"a{k}")
        n = f"sizeof a{k} / sizeof({kind})"
        if is_input and kind == "float":
            fill += f"for (uint32_t i = 0; i < {n}; i++) ((float *)a{k})[i] = (float)(i * 2654435761u >> 24) / 256.0f;\n  "
        elif is_input:
            fill += f"for (uint32_t i = 0; i < {n}; i++) ((uint8_t *)a{k})[i] = (uint8_t)(i * 2654435761u >> 24);\n  "
        else:
            outputs = kind
            number = f"bits(((float *)a{k})[i])" if kind == "float" else f"((uint8_t *)a{k})[i]"
            show += f'for (uint32_t i = 0; i < {n} && i < 8; i++) {{ board_print(" "); ' \
                f"board_print_number({number}); }}\n  "
    declare = "" if head else f"void {function}();"
    return f"{head}{declare}\n" + "\n".join(["#include <stdint.h>", *arrays]) + "\n" + \
        PROGRAM % (STACK, fill, function, ", ".join(names), STACK, show), outputs


def far(ours, theirs, kind):
    """The largest difference: over the largest value, or in steps of 8-bit numbers."""
    if len(ours) != len(theirs) or not ours:
        return "other outputs"
    most = max(abs(a - b) for a, b in zip(ours, theirs))
    return f"{most / (max(map(abs, ours)) or 1):.0e}" if kind == "float" else f"{most} steps"


def values(numbers, kind):
    """Outputs as numbers of their type."""
    if kind == "float":
        return [struct.unpack("f", struct.pack("I", n))[0] for n in numbers]
    return [n - 256 if kind == "int8_t" and n > 127 else n for n in numbers]


def run_c(make, model, folder):
    """Bytes of flash and RAM, ticks, bytes of stack, outputs of a program that is made of C; their type."""
    onnx = model
    if make != by_tenon and not model.endswith(".onnx"):
        onnx = f"{folder}/model.onnx"
        call(sys.argv[1], "convert", model, "-o", onnx)
    sources, function, text, head = make(onnx, folder)
    program, kind = main_of(function, text, head)
    open(f"{folder}/main.c", "w").write(program)
    image = f"{folder}/image.elf"
    call("arm-none-eabi-gcc", *FLAGS, "-I", BOARD, f"{BOARD}/boot.c", "main.c", *sources, "-lm", "-o", image, cwd=folder)
    text, data, bss = (int(n) for n in call("arm-none-eabi-size", image).split("\n")[1].split()[:3])
    run = subprocess.run(["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-semihosting", "-icount", "shift=0",
                          "-kernel", image], capture_output=True, text=True, timeout=600)
    numbers = [int(n) for n in re.findall(r"\d+", run.stdout + run.stderr)]
    if run.returncode or len(numbers) < 3:
        raise RuntimeError("the image does not run")
    return [text, data + bss, *numbers], kind


def run_tflm(_, model, folder):
    """The same of TFLite Micro; the type is that of Tenon's outputs."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tflm.sh")
    numbers = call(script, os.environ["TFLM"], model, cwd=folder).split()
    if len(numbers) < 5:
        raise RuntimeError("the image does not run")
    return [int(n) for n in numbers], None


for path in sys.argv[2:]:
    ours = None
    for tool, run, make in (("Tenon", run_c, by_tenon), ("emx", run_c, by_emx), ("onnx2c", run_c, by_onnx2c),
                            ("TFLM", run_tflm, None)):
        if tool != "Tenon" and not os.environ.get(tool.upper()):
            print(f"{tool} is left out: {tool.upper()} does not name it", file=sys.stderr)
            continue
        if tool == "TFLM" and not path.endswith(".tflite"):
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                (flash, ram, ticks, stack, *outputs), kind = run(make, os.path.abspath(path), folder)
            ours = ours or (outputs, kind)
            apart = far(*(values(n, ours[1]) for n in (ours[0], outputs)), ours[1]) if tool != "Tenon" else ""
            print(f"| {os.path.basename(os.path.dirname(path))} | {tool} | {flash} | {ram} | {stack} | "
                  f"{ticks * 40 / 1e6:.2f} M | {apart} |", flush=True)
        except (subprocess.CalledProcessError, IndexError, RuntimeError, subprocess.TimeoutExpired) as error:
            why = (getattr(error, "stderr", "") or str(error)).strip().split("\n")[-1]
            print(f"{tool}: {path}: {why}", file=sys.stderr)
