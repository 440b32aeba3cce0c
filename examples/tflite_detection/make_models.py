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


def tensor(model, name, shape, data=None):
    t = schema.TensorT()
    t.name, t.shape, t.type, t.buffer = name, shape, schema.TensorType.FLOAT32, 0
    if data is not None:
        b = schema.BufferT()
        b.data = np.frombuffer(data.astype("f4").tobytes(), np.uint8)
        t.buffer = len(model.buffers)
        model.buffers.append(b)
    model.subgraphs[0].tensors.append(t)
    return len(model.subgraphs[0].tensors) - 1


def model_of(regular):
    model, g = schema.ModelT(), schema.SubGraphT()
    code, op = schema.OperatorCodeT(), schema.OperatorT()
    model.version, model.buffers, model.subgraphs = 3, [schema.BufferT()], [g]
    g.tensors, g.operators = [], [op]
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
    code.customCode, code.version, model.operatorCodes = "TFLite_Detection_PostProcess", 1, [code]
    g.inputs = [tensor(model, "codes", [1, N, 4]), tensor(model, "scores", [1, N, CLASSES + 1])]
    op.inputs = [*g.inputs, tensor(model, "anchors", [N, 4], anchors)]
    shapes = {"boxes": [1, 10, 4], "classes": [1, 10], "points": [1, 10], "n": [1]}
    g.outputs = op.outputs = [tensor(model, name, shape) for name, shape in shapes.items()]
    options = dict(max_detections=10, num_classes=CLASSES, nms_iou_threshold=0.4,
                   nms_score_threshold=0.3, x_scale=10.0, y_scale=10.0, w_scale=5.0, h_scale=5.0,
                   max_classes_per_detection=1, detections_per_class=5, use_regular_nms=regular)
    op.customOptions = np.frombuffer(flexbuffers.Dumps(options), np.uint8)
    b = flatbuffers.Builder(1024)
    b.Finish(model.Pack(b), b"TFL3")
    return bytes(b.Output())


for name, regular in (("fast", False), ("regular", True)):
    folder = pathlib.Path(__file__).parent / "models" / name
    (folder / "ref").mkdir(parents=True, exist_ok=True)
    data = model_of(regular)
    (folder / "model.tflite").write_bytes(data)
    run = Interpreter(model_content=data)
    run.allocate_tensors()
    for sets, top in enumerate((1.0, 0.35)):  # many boxes; few
        inputs = [random.normal(0, 1, (1, N, 4)), random.uniform(0, top, (1, N, CLASSES + 1))]
        for k, (d, x) in enumerate(zip(run.get_input_details(), inputs)):
            run.set_tensor(d["index"], x.astype("f4"))
            np.save(folder / "ref" / f"set{sets}_in{k}.npy", x.astype("f4"))
        run.invoke()
        for k, d in enumerate(run.get_output_details()):
            np.save(folder / "ref" / f"set{sets}_out{k}.npy", run.get_tensor(d["index"]))
