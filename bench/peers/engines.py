"""The engines: each loads an ONNX file for a number of threads and runs it on given inputs.

An engine is a class with name and version. Making one imports what it needs; load(path, inputs, outputs,
threads) loads the model, where inputs are arrays by name and outputs the shapes by name, both in the
model's order; run() runs until the results are there, and is what is timed; results() answers them as a
list of arrays in the order of the outputs. Settings are the best that its
makers document for latency on a CPU, in full f32. convert(path, inputs), where there is one, comes
before load and answers the file that it made: it is kept next to the model.
"""
import ctypes
import os
import pathlib
import resource
import subprocess
import sys

import numpy as np

PATIENCE = 1200  # seconds for a converter
MEMORY = 12 << 30  # bytes for a converter: onnx2tf takes forty times the model for large ones


def converted(name, path, target, command):
    """The file `target` made from an ONNX file by a command, made anew if it is older. A converter that
    failed is not asked again, until run.py --convert or a new model."""
    refusal = path.with_suffix(f".{name}.failed")
    if refusal.exists() and refusal.stat().st_mtime > path.stat().st_mtime:
        raise RuntimeError(refusal.read_text())
    if not target.exists() or target.stat().st_mtime < path.stat().st_mtime:
        # mnnconvert would install a package for telemetry with pip.
        env = dict(os.environ, PIP_NO_INDEX="1", PIP_ROOT_USER_ACTION="ignore")
        why = None
        try:
            result = subprocess.run(command, capture_output=True, text=True, cwd=path.parent, env=env, timeout=PATIENCE,
                                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)))
            if result.returncode or not target.exists():
                lines = (result.stderr or result.stdout).strip().splitlines()
                why = lines[-1][:200] if lines else "no reason given"
        except subprocess.TimeoutExpired:
            why = f"not done within {PATIENCE} seconds"
        if why:
            refusal.write_text(f"{pathlib.Path(command[0]).name} failed: {why}")
            raise RuntimeError(refusal.read_text())
    return target


def tool(name):
    return str(pathlib.Path(sys.executable).parent / name)


# ---- Tenon, through its C API ----

ABI = 1, 0 # the version of tenon/plugin.h that these structs are taken from


class Head(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("major", ctypes.c_uint16), ("minor", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("head", Head), ("data", ctypes.c_void_p), ("layout", ctypes.c_uint64), ("dtype", ctypes.c_uint32),
                ("rank", ctypes.c_int32), ("shape", ctypes.c_int64 * 8), ("kind", ctypes.c_uint32),
                ("elements", ctypes.c_uint32), ("object", ctypes.c_uint64)]


class RuntimeOptions(ctypes.Structure):
    _fields_ = [("head", Head), ("n_threads", ctypes.c_int32), ("flags", ctypes.c_uint32),
                ("allocator", ctypes.c_void_p), ("isa_mask", ctypes.c_uint64), ("pins", ctypes.c_void_p),
                ("n_pins", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Tenon:
    name = "tenon"

    def __init__(self):
        path = os.environ.get("TENON_LIBRARY") or pathlib.Path(__file__).resolve().parents[2] / "build/libtenon.so"
        self.lib = lib = ctypes.CDLL(str(path))
        for f in ("tn_version", "tn_dtype_name", "tn_diag_text"):
            getattr(lib, f).restype = ctypes.c_char_p
        lib.tn_diag_create.restype = ctypes.c_void_p
        lib.tn_diag_text.argtypes = [ctypes.c_void_p]
        lib.tn_session_output.restype = ctypes.POINTER(Tensor)
        lib.tn_session_output.argtypes = [ctypes.c_void_p, ctypes.c_int32]
        lib.tn_session_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        lib.tn_session_set_input.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(Tensor), ctypes.c_void_p]
        lib.tn_model_find_input.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        lib.tn_model_load.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        lib.tn_session_create.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        self.diag = lib.tn_diag_create()
        self.version = lib.tn_version().decode()

    def check(self, status):
        if status:
            raise RuntimeError(self.lib.tn_diag_text(self.diag).decode())

    def load(self, path, inputs, outputs, threads):
        # A size that ends with the members named here: the library takes the rest as zero.
        options = RuntimeOptions(Head(ctypes.sizeof(RuntimeOptions), *ABI), threads)
        runtime, model, self.session = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.lib.tn_runtime_create(ctypes.byref(options), ctypes.c_void_p(self.diag), ctypes.byref(runtime)))
        self.check(self.lib.tn_model_load(runtime, str(path).encode(), None, self.diag, ctypes.byref(model)))
        self.check(self.lib.tn_session_create(model, self.diag, ctypes.byref(self.session)))
        self.kept = []
        for name, array in inputs.items():
            shape = (ctypes.c_int64 * 8)(*array.shape)
            dtype = self.lib.tn_dtype_parse(str(array.dtype).encode())
            tensor = Tensor(Head(ctypes.sizeof(Tensor), *ABI), array.ctypes.data, 0, dtype, array.ndim, shape)
            index = self.lib.tn_model_find_input(model, name.encode())
            self.check(self.lib.tn_session_set_input(self.session, index, ctypes.byref(tensor), self.diag))
            self.kept.append((array, tensor))
        self.n_outputs = len(outputs)

    def run(self):
        status = self.lib.tn_session_run(self.session, self.diag)
        if status:
            self.check(status)

    def results(self):
        return [self.array(k) for k in range(self.n_outputs)]

    def array(self, index):
        t = self.lib.tn_session_output(self.session, index).contents
        shape = tuple(t.shape[k] for k in range(t.rank))
        self.lib.tn_dtype_name.argtypes = [ctypes.c_uint32]
        kind = {"f32": np.float32, "i64": np.int64, "i32": np.int32}[self.lib.tn_dtype_name(t.dtype).decode()]
        if 0 in shape:
            return np.zeros(shape, kind)
        n = int(np.prod(shape)) * np.dtype(kind).itemsize
        return np.frombuffer((ctypes.c_char * n).from_address(t.data), kind).reshape(shape)


# ---- the peers ----

class OnnxRuntime:
    name = "onnxruntime"

    def __init__(self):
        import onnxruntime
        self.ort = onnxruntime
        self.version = onnxruntime.__version__

    def load(self, path, inputs, outputs, threads):
        ort = self.ort
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.inputs = inputs

    def run(self):
        self.made = self.session.run(None, self.inputs)

    def results(self):
        return self.made


class OpenVino:
    name = "openvino"

    def __init__(self):
        import openvino
        self.ov = openvino
        self.version = openvino.__version__.split("-")[0]

    def load(self, path, inputs, outputs, threads):
        ov = self.ov
        core = ov.Core()
        model = core.read_model(str(path))
        model.reshape({name: array.shape for name, array in inputs.items()})
        compiled = core.compile_model(model, "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "f32"})
        self.request = compiled.create_infer_request()
        self.inputs = inputs  # the tensors made below point into these arrays
        for name, array in inputs.items():
            self.request.set_tensor(name, ov.Tensor(array, shared_memory=True))
        self.n_outputs = len(outputs)

    def run(self):
        self.request.infer()

    def results(self):
        return [self.request.get_output_tensor(k).data for k in range(self.n_outputs)]


class Mnn:
    name = "mnn"

    def __init__(self):
        import MNN
        self.mnn = MNN
        self.version = MNN.version()

    def convert(self, path, inputs):
        target = path.with_suffix(".mnn")
        return converted(self.name, path, target, [
            tool("mnnconvert"), "-f", "ONNX", "--modelFile", str(path), "--MNNModel", str(target), "--bizCode", "bench",
            "--useOriginRNNImpl"])  # the default ends with std::bad_alloc for an LSTM over 128 steps

    def load(self, path, inputs, outputs, threads):
        MNN = self.mnn
        file = self.convert(path, inputs)
        manager = MNN.nn.create_runtime_manager(({"precision": "high", "backend": "CPU", "numThread": threads,
                                                  "memory": "normal"},))
        self.net = MNN.nn.load_module_from_file(str(file), list(inputs), list(outputs), runtime_manager=manager, shape_mutable=False)
        self.inputs = []
        for array in inputs.values():
            array = array.astype(np.int32) if array.dtype == np.int64 else array
            kind = MNN.numpy.int32 if array.dtype == np.int32 else MNN.numpy.float32
            self.inputs.append(MNN.expr.const(array, array.shape, MNN.expr.NCHW, kind))

    def run(self):
        expr = self.mnn.expr
        self.made = [expr.convert(v, expr.NCHW).read() for v in self.net.forward(self.inputs)]  # read() computes

    def results(self):
        return [np.array(each, copy=False) for each in self.made]


class Ncnn:
    name = "ncnn"

    def __init__(self):
        import ncnn
        self.ncnn = ncnn
        self.version = ncnn.__version__

    def convert(self, path, inputs):
        if any(array.dtype != np.float32 for array in inputs.values()):
            shapes = ",".join(f"[{','.join(map(str, a.shape))}]{'i64' if a.dtype == np.int64 else 'f32'}" for a in inputs.values())
        else:
            shapes = ",".join(f"[{','.join(map(str, a.shape))}]" for a in inputs.values())
        return converted(self.name, path, path.with_suffix(".ncnn.param"), [
            tool("pnnx"), str(path), f"inputshape={shapes}", "fp16=0"])

    def load(self, path, inputs, outputs, threads):
        ncnn = self.ncnn
        param = self.convert(path, inputs)
        self.net = ncnn.Net()
        self.net.opt.num_threads = threads
        self.net.opt.use_fp16_packed = self.net.opt.use_fp16_storage = self.net.opt.use_fp16_arithmetic = False
        self.net.opt.use_bf16_storage = False
        if self.net.load_param(str(param)) or self.net.load_model(str(param.with_suffix(".bin"))):
            raise RuntimeError("ncnn cannot load the converted model")
        # A batch of one has no dim of its own in ncnn.
        self.inputs = [ncnn.Mat(a[0].astype(np.int32) if a.dtype == np.int64 else a[0]).clone() for a in inputs.values()]

    def run(self):
        extractor = self.net.create_extractor()
        for name, mat in zip(self.net.input_names(), self.inputs):
            extractor.input(name, mat)
        self.made = []
        for name in self.net.output_names():
            status, mat = extractor.extract(name)
            if status:
                raise RuntimeError(f"ncnn answered {status}")
            self.made.append(mat)

    def results(self):
        return [np.array(mat)[None] for mat in self.made]


class LiteRt:
    """LiteRT with XNNPACK, its default. onnx2tf converts; it pins old versions of all it needs, so
    bench/peers/setup gives it a virtual environment of its own, next to that of the engines."""
    name = "litert"

    def __init__(self):
        from importlib.metadata import version
        from ai_edge_litert.interpreter import Interpreter
        self.interpreter_class = Interpreter
        self.version = version("ai-edge-litert")

    def convert(self, path, inputs):
        onnx2tf = pathlib.Path(sys.prefix).with_name(pathlib.Path(sys.prefix).name + "-convert") / "bin/onnx2tf"
        if not onnx2tf.exists():
            raise RuntimeError("onnx2tf is not there: run bench/peers/setup")
        # It would download these pictures to compare the conversion on them; any pictures will do.
        pictures = path.parent / "calibration_image_sample_data_20x128x128x3_float32.npy"
        if not pictures.exists():
            np.save(pictures, np.random.default_rng(0).random((20, 128, 128, 3), np.float32))
        target = path.with_suffix(".tf") / f"{path.stem}_float32.tflite"
        # Its strict mode compares every operator, which takes an hour for a large model: run.py compares the outputs.
        return converted(self.name, path, target, [
            str(onnx2tf), "-i", str(path), "-o", str(target.parent), "-n", "-nuo", "-coion", "-dsm"])

    def load(self, path, inputs, outputs, threads):
        self.interpreter = self.interpreter_class(model_path=str(self.convert(path, inputs)), num_threads=threads)
        self.interpreter.allocate_tensors()
        for detail in self.interpreter.get_input_details():
            name = detail["name"].removeprefix("serving_default_").rsplit(":", 1)[0]
            array = inputs[name]
            if list(array.shape) != list(detail["shape"]):  # channels last
                array = np.ascontiguousarray(np.moveaxis(array, 1, -1))
            self.interpreter.set_tensor(detail["index"], array.astype(detail["dtype"]))
        details = {d["name"].rsplit(":", 1)[0]: d["index"] for d in self.interpreter.get_output_details()}
        order = [d["index"] for d in self.interpreter.get_output_details()]
        order = [details[n] for n in outputs] if set(outputs) <= set(details) else order
        self.outputs = [self.interpreter.tensor(index) for index in order]
        self.shapes = list(outputs.values())

    def run(self):
        self.interpreter.invoke()

    def results(self):
        arrays = [np.array(output()) for output in self.outputs]
        return [np.moveaxis(a, -1, 1) if a.shape != shape and a.ndim == len(shape) else a
                for a, shape in zip(arrays, self.shapes)]


class ExecuTorch:
    """ExecuTorch with XNNPACK, its usual backend on CPUs. onnx2torch converts."""
    name = "executorch"

    def __init__(self):
        from importlib.metadata import version
        import torch
        from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool
        from executorch.runtime import Runtime
        self.torch, self.runtime, self.set_threads = torch, Runtime.get(), _unsafe_reset_threadpool
        self.version = version("executorch")

    def convert(self, path, inputs):
        target, examples = path.with_suffix(".pte"), path.with_suffix(".inputs.npz")
        np.savez(examples, **inputs)
        script = pathlib.Path(__file__).with_name("to_executorch.py")
        return converted(self.name, path, target, [sys.executable, str(script), str(path), str(examples), str(target)])

    def load(self, path, inputs, outputs, threads):
        self.set_threads(threads)
        self.method = self.runtime.load_program(self.convert(path, inputs)).load_method("forward")
        self.inputs = [self.torch.from_numpy(array) for array in inputs.values()]

    def run(self):
        self.made = self.method.execute(self.inputs)

    def results(self):
        return [each.numpy() for each in self.made]


ENGINES = {engine.name: engine for engine in (Tenon, OnnxRuntime, OpenVino, Mnn, Ncnn, LiteRt, ExecuTorch)}
