#!/usr/bin/env python3
"""Writes models/: a detector's last operator on random boxes, and what LiteRT makes of it. Needs
ai-edge-litert, flatbuffers and numpy."""

import pathlib

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from flatbuffers import flexbuffers

N, CLASSES = 40, 3
random = np.random.RandomState(4)
anchors = np.concatenate([random.uniform(0, 1, (N, 2)), random.uniform(0.2, 0.5, (N, 2))], 1)


def tensor(model, name, shape, data=None, scale=None, zero=0):
    """Of f32, or of u8 with a scale and zero point."""
    t = schema.TensorT()
    t.name, t.shape, t.type, t.buffer = name, shape, schema.TensorType.FLOAT32, 0
    if scale:
        t.type, t.quantization = schema.TensorType.UINT8, schema.QuantizationParametersT()
        t.quantization.scale, t.quantization.zeroPoint = [scale], [zero]
    if data is not None:
        b = schema.BufferT()
        data = np.clip(data / scale + zero, 0, 255).astype("u1") if scale else data.astype("f4")
        b.data = np.frombuffer(data.tobytes(), np.uint8)
        t.buffer = len(model.buffers)
        model.buffers.append(b)
    model.subgraphs[0].tensors.append(t)
    return len(model.subgraphs[0].tensors) - 1


def model_of(regular, quantised):
    model, g = schema.ModelT(), schema.SubGraphT()
    code, op = schema.OperatorCodeT(), schema.OperatorT()
    model.version, model.buffers, model.subgraphs = 3, [schema.BufferT()], [g]
    g.tensors, g.operators = [], [op]
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
    code.customCode, code.version, model.operatorCodes = "TFLite_Detection_PostProcess", 1, [code]
    codes, scores, boxes = ((0.03, 120), (1 / 256, 0), (0.006, 3)) if quantised else ((), (), ())
    g.inputs = [tensor(model, "codes", [1, N, 4], None, *codes),
                tensor(model, "scores", [1, N, CLASSES + 1], None, *scores)]
    op.inputs = [*g.inputs, tensor(model, "anchors", [N, 4], anchors, *boxes)]
    shapes = {"boxes": [1, 10, 4], "classes": [1, 10], "points": [1, 10], "n": [1]}
    g.outputs = op.outputs = [tensor(model, name, shape) for name, shape in shapes.items()]
    options = dict(max_detections=10, num_classes=CLASSES, nms_iou_threshold=0.4,
                   nms_score_threshold=0.3, x_scale=10.0, y_scale=10.0, w_scale=5.0, h_scale=5.0,
                   max_classes_per_detection=1, detections_per_class=5, use_regular_nms=regular,
                   _output_quantized=True)  # as converters leave it
    op.customOptions = np.frombuffer(flexbuffers.Dumps(options), np.uint8)
    b = flatbuffers.Builder(1024)
    b.Finish(model.Pack(b), b"TFL3")
    return bytes(b.Output())


for name, regular, quantised in (("fast", False, False), ("regular", True, False),
                                 ("quantised", False, True)):
    folder = pathlib.Path(__file__).parent / "models" / name
    (folder / "ref").mkdir(parents=True, exist_ok=True)
    data = model_of(regular, quantised)
    (folder / "model.tflite").write_bytes(data)
    run = Interpreter(model_content=data)
    run.allocate_tensors()
    for sets, top in enumerate((1.0, 0.35)):  # many boxes; few
        inputs = [random.normal(0, 1, (1, N, 4)), random.uniform(0, top, (1, N, CLASSES + 1))]
        for k, (d, x) in enumerate(zip(run.get_input_details(), inputs)):
            scale, zero = d["quantization"]
            x = np.clip(x / scale + zero, 0, 255).astype("u1") if scale else x.astype("f4")
            run.set_tensor(d["index"], x)
            np.save(folder / "ref" / f"set{sets}_in{k}.npy", x)
        run.invoke()
        for k, d in enumerate(run.get_output_details()):
            np.save(folder / "ref" / f"set{sets}_out{k}.npy", run.get_tensor(d["index"]))
