"""Calls com.example::Swish of one plug-in from every host that is installed: python hosts.py PLUGIN.

Prints what each answers; ends with 1 if one of them disagrees with NumPy.
"""

import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np

import tenon

DOMAIN, BETA = "com.example", 1.5
OPERATOR = f"{DOMAIN}::Swish"
X = np.array([[-2, -1, -0.5], [0.5, 1, 2]], np.float32)
WANTED = X / (1 + np.exp(-BETA * X))


POINTER = ctypes.c_void_p


class GgmlParams(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("buffer", POINTER), ("no_alloc", ctypes.c_bool)]


class Absent(Exception):
    """A host is not here; its text says what is missing."""


def need(name, package=None):
    try:
        return __import__(name, fromlist=["_"])
    except ImportError as error:
        raise Absent(f"skipped: no package {package or name}") from error


def command(plugin):
    program = pathlib.Path(tenon.__file__).parent / "bin" / "tenon"
    values = ",".join(map(str, X.ravel()))
    with tempfile.TemporaryDirectory() as folder:
        line = [program, "op", "run", OPERATOR, "--plugin", plugin, "-a", f"beta={BETA}"]
        line += ["-i", f"x=f32[2,3]={values}", "--output", folder]
        subprocess.run(line, check=True, capture_output=True)
        return np.load(next(pathlib.Path(folder).glob("*.npy")))


def python(plugin):
    return tenon.Runtime(plugins=[plugin]).ops.com.example.Swish(X, beta=BETA)


def onnx_runtime(plugin):
    onnxruntime, onnx = need("onnxruntime"), need("onnx")
    import tenon.onnxruntime

    make = onnx.helper
    node = make.make_node("Swish", ["x"], ["y"], domain=DOMAIN, beta=BETA)
    x, y = (make.make_tensor_value_info(name, 1, X.shape) for name in "xy")
    opsets = [make.make_opsetid("", 17), make.make_opsetid(DOMAIN, 1)]
    model = make.make_model(
        make.make_graph([node], "swish", [x], [y]), opset_imports=opsets, ir_version=8
    )
    options = onnxruntime.SessionOptions()
    options.add_provider_for_devices(tenon.onnxruntime.devices(), {"plugins": plugin})
    options.register_custom_ops_library(tenon.onnxruntime.library())
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run(None, {"x": X})[0]


def torch_operator(plugin):
    torch = need("torch")
    import tenon.torch

    tenon.torch.load_operators(plugin)
    return torch.ops.com_example.Swish(torch.from_numpy(X), beta=BETA).numpy()


def torch_compile(plugin):
    torch = need("torch")
    need("onnxscript")
    import tenon.torch

    tenon.torch.load_operators(plugin)
    swish = lambda x: torch.ops.com_example.Swish(x, beta=BETA)  # noqa: E731
    model = torch.compile(swish, backend="tenon", options={"fallback": "forbid"})
    with torch.inference_mode():
        return model(torch.from_numpy(X)).numpy()


def litert_file():
    """A .tflite file whose only node is the custom operator."""
    schema = need("ai_edge_litert.schema_py_generated", "ai-edge-litert")
    flatbuffers = need("flatbuffers")
    from flatbuffers import flexbuffers

    code, node, graph, model = (
        schema.OperatorCodeT(), schema.OperatorT(), schema.SubGraphT(), schema.ModelT()
    )  # fmt: skip
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
    code.customCode = OPERATOR
    node.inputs, node.outputs = [0], [1]
    node.customOptions = list(flexbuffers.Dumps({"beta": BETA}))
    graph.tensors = [schema.TensorT(), schema.TensorT()]
    for tensor, tensor.name in zip(graph.tensors, "xy"):
        tensor.shape, tensor.type = X.shape, schema.TensorType.FLOAT32
    graph.operators, graph.inputs, graph.outputs = [node], [0], [1]
    model.version, model.operatorCodes, model.subgraphs = 3, [code], [graph]
    model.buffers = [schema.BufferT()]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def litert(plugin):
    interpreter = need("ai_edge_litert.interpreter", "ai-edge-litert")
    import tenon.litert

    made = interpreter.Interpreter(
        model_content=litert_file(),
        experimental_delegates=[tenon.litert.delegate(plugins=[plugin])],
    )
    made.allocate_tensors()
    made.set_tensor(made.get_input_details()[0]["index"], X)
    made.invoke()
    return made.get_tensor(made.get_output_details()[0]["index"])


def tvm_ffi(plugin):
    need("tvm_ffi", "apache-tvm-ffi")
    import tenon.tvm_ffi

    y = np.empty_like(X)
    tvm = tenon.tvm_ffi.module()
    tvm.load_plugin(plugin)
    tvm.run(OPERATOR, f"beta={BETA}", 1, X, y)
    return y


def jax(plugin):
    package = need("jax")
    import tenon.jax

    tenon.jax.load_plugin(plugin)
    return np.asarray(
        package.jit(lambda x: tenon.jax.call(OPERATOR, x, beta=BETA))(X)
    )


def ggml(plugin):
    """What a program in C writes: ggml_custom_4d with a function of Tenon's library."""
    folder = pathlib.Path(need("libggml", "libggml-python").__file__).parent / "lib64"
    import tenon.ggml

    base = ctypes.CDLL(os.fspath(folder / "libggml-base.so"), ctypes.RTLD_GLOBAL)
    cpu = ctypes.CDLL(os.fspath(folder / "libggml-cpu.so"), ctypes.RTLD_GLOBAL)
    ours = ctypes.CDLL(tenon.ggml.library())
    why, size = ctypes.create_string_buffer(1000), ctypes.c_size_t
    if not ours.tenon_ggml_load_plugin(os.fsencode(plugin), why, size(1000)):
        raise RuntimeError(why.value.decode())
    base.ggml_tensor_overhead.restype, ours.tenon_ggml_create.restype = size, POINTER
    ours.tenon_ggml_error.restype = ctypes.c_char_p
    overhead, attributes = size(base.ggml_tensor_overhead()), f"beta={BETA}".encode()
    call = ours.tenon_ggml_create(OPERATOR.encode(), attributes, overhead, why, size(1000))
    if not call:
        raise RuntimeError(why.value.decode())
    y = run_ggml(base, cpu, ours.tenon_ggml_run, POINTER(call))
    error = ours.tenon_ggml_error(POINTER(call)).decode()
    ours.tenon_ggml_free(POINTER(call))
    if error:
        raise RuntimeError(error)
    return y


def run_ggml(base, cpu, function, call):
    """A graph of one node."""
    for name in ("init", "new_tensor_2d", "get_data", "new_graph", "custom_4d"):
        getattr(base, f"ggml_{name}").restype = POINTER
    context = POINTER(base.ggml_init(GgmlParams(1 << 24, None, False)))
    f32, columns, rows, one = 0, *map(ctypes.c_int64, (*X.shape[::-1], 1))
    x = POINTER(base.ggml_new_tensor_2d(context, f32, columns, rows))
    ctypes.memmove(base.ggml_get_data(x), X.tobytes(), X.nbytes)
    inputs = (POINTER * 1)(x)
    y = base.ggml_custom_4d(context, f32, columns, rows, one, one, inputs, 1, function, 1, call)
    graph = POINTER(base.ggml_new_graph(context))
    base.ggml_build_forward_expand(graph, POINTER(y))
    cpu.ggml_graph_compute_with_ctx(context, graph, 2)
    data = ctypes.string_at(base.ggml_get_data(POINTER(y)), X.nbytes)
    base.ggml_free(context)
    return np.frombuffer(data, np.float32).reshape(X.shape)


HOSTS = {
    "tenon op run": command,
    "Python": python,
    "ONNX Runtime": onnx_runtime,
    "torch.ops": torch_operator,
    "torch.compile": torch_compile,
    "LiteRT": litert,
    "tvm-ffi": tvm_ffi,
    "JAX": jax,
    "ggml": ggml,
}


def main(plugin):
    wrong = 0
    print(f"{'NumPy':<14}", *(f"{v:9.6f}" for v in WANTED.ravel()))
    for name, host in HOSTS.items():
        try:
            y = host(plugin)
        except Absent as absent:
            print(f"{name:<14} {absent}")
            continue
        agrees = y.shape == X.shape and np.allclose(y, WANTED, rtol=1e-5)
        wrong += not agrees
        print(f"{name:<14}", *(f"{v:9.6f}" for v in y.ravel()), "" if agrees else " WRONG")
    return 1 if wrong else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of the hosts, about their own futures
    sys.exit(main(os.path.abspath(sys.argv[1])))
