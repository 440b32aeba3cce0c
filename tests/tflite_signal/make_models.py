#!/usr/bin/env python3
"""Writes models/ and no_step.tflite beside it: chains of operators of TFLite Micro's signal
library, with what the micro interpreter makes of a signal, run by run. Needs tflite-micro and
numpy."""

import pathlib

import flatbuffers
import numpy as np
from flatbuffers import flexbuffers
from tflite_micro.python.tflite_micro import runtime
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

TYPES = {"i2": "INT16", "i4": "INT32", "u4": "UINT32", "u8": "UINT64", "f4": "FLOAT32", "?": "BOOL"}
random = np.random.RandomState(3)


class Model:
    def __init__(self):
        self.model, self.g = schema.ModelT(), schema.SubGraphT()
        self.model.version, self.model.subgraphs = 3, [self.g]
        self.model.buffers, self.model.operatorCodes = [schema.BufferT()], []
        self.g.tensors, self.g.operators, self.g.inputs, self.g.outputs = [], [], [], []

    def tensor(self, dtype, shape, data=None):
        t = schema.TensorT()
        t.name, t.shape, t.buffer = f"t{len(self.g.tensors)}", list(shape), 0
        t.type = getattr(schema.TensorType, TYPES[dtype])
        if data is not None:
            b = schema.BufferT()
            b.data = np.frombuffer(np.asarray(data).astype(dtype).tobytes(), np.uint8)
            t.buffer = len(self.model.buffers)
            self.model.buffers.append(b)
        self.g.tensors.append(t)
        return len(self.g.tensors) - 1

    def const(self, dtype, data):
        return self.tensor(dtype, np.shape(data), data)

    def add(self, name, inputs, outputs, **options):
        """Answers the outputs, [(dtype, shape)]."""
        code, op = schema.OperatorCodeT(), schema.OperatorT()
        builtin = getattr(schema.BuiltinOperator, name, schema.BuiltinOperator.CUSTOM)
        code.builtinCode = code.deprecatedBuiltinCode = builtin
        code.version = 1
        if builtin == schema.BuiltinOperator.CUSTOM:
            code.customCode = name
            if options:
                op.customOptions = np.frombuffer(flexbuffers.Dumps(options), np.uint8)
        op.opcodeIndex = len(self.model.operatorCodes)
        op.inputs, op.outputs = inputs, [self.tensor(*o) for o in outputs]
        self.model.operatorCodes.append(code)
        self.g.operators.append(op)
        return op.outputs

    def bytes(self):
        b = flatbuffers.Builder(1024)
        b.Finish(self.model.Pack(b), b"TFL3")
        return bytes(b.Output())


def front_end():
    """What a model for key words hears: 16 new samples to three frames of 5 channels."""
    m = Model()
    x = m.tensor("i2", [16])
    frame, valid = m.add("SignalFramer", [x], [("i2", [1, 48]), ("?", [])], frame_size=48,
                         frame_step=16, prefill=True)
    (row,) = m.add("RESHAPE", [frame, m.const("i4", [48])], [("i2", [48])])
    window = np.round(4096 * (0.5 - 0.5 * np.cos(2 * np.pi * (np.arange(48) + 0.5) / 48)))
    (y,) = m.add("SignalWindow", [row, m.const("i2", window)], [("i2", [48])], shift=12)
    y, bits = m.add("SignalFftAutoScale", [y], [("i2", [48]), ("i4", [])])
    (y,) = m.add("SignalRfft", [y], [("i2", [66])], T=schema.TensorType.INT16, fft_length=64)
    (y,) = m.add("SignalEnergy", [y], [("u4", [33])], start_index=0, end_index=33)
    weights = random.randint(0, 4097, 28)
    bank = [weights, 4096 - weights, [1, 3, 6, 11, 16, 22], [0, 2, 5, 10, 15, 21],
            [2, 3, 5, 5, 6, 7]]
    (y,) = m.add("SignalFilterBank", [y, *(m.const("i2", b) for b in bank)], [("u8", [5])],
                 num_channels=5)
    (y,) = m.add("SignalFilterBankSquareRoot", [y, bits], [("u4", [5])])
    y, noise = m.add("SignalFilterBankSpectralSubtraction", [y], [("u4", [5]), ("u4", [5])],
                     alternate_one_minus_smoothing=15401, alternate_smoothing=983, clamping=False,
                     min_signal_remaining=819, num_channels=5, one_minus_smoothing=15974,
                     smoothing=410, smoothing_bits=10, spectral_subtraction_bits=14)
    gains = np.linspace(32636, 300, 125)
    (y,) = m.add("SignalPCAN", [y, noise, m.const("i2", gains)], [("u4", [5])], snr_shift=6)
    (y,) = m.add("SignalFilterBankLog", [y], [("i2", [5])], input_correction_bits=3,
                 output_scale=1600)
    y, stacked = m.add("SignalStacker", [y], [("i2", [15]), ("?", [])], num_channels=5,
                       stacker_left_context=2, stacker_right_context=0, stacker_step=1)
    m.g.inputs, m.g.outputs = [x], [y, valid, stacked]
    return m


def back_and_forth():
    """A delayed signal to spectra of frames that overlap, and back."""
    m = Model()
    x = m.tensor("i2", [2, 32])
    (y,) = m.add("SignalDelay", [x], [("i2", [2, 32])], delay_length=5)
    frames, valid = m.add("SignalFramer", [y], [("i2", [2, 2, 32]), ("?", [])], frame_size=32,
                          frame_step=16, prefill=True)
    (y,) = m.add("SignalRfft", [frames], [("i2", [2, 2, 34])], T=schema.TensorType.INT16,
                 fft_length=32)
    (y,) = m.add("SignalIrfft", [y], [("i2", [2, 2, 32])], T=schema.TensorType.INT16,
                 fft_length=32)
    (y,) = m.add("SignalOverlapAdd", [y], [("i2", [2, 32])], T=schema.TensorType.INT16,
                 frame_step=16)
    m.g.inputs, m.g.outputs = [x], [y, valid]
    return m


def no_step():
    """Frames that never move on: no memory is large enough."""
    m = Model()
    x = m.tensor("i2", [16])
    m.g.inputs = [x]
    m.g.outputs = m.add("SignalFramer", [x], [("i2", [1, 48]), ("?", [])], frame_size=48,
                        frame_step=0, prefill=False)
    return m


(pathlib.Path(__file__).parent / "no_step.tflite").write_bytes(no_step().bytes())
for make, shape in ((front_end, 16), (back_and_forth, (2, 32))):
    folder = pathlib.Path(__file__).parent / "models" / make.__name__
    (folder / "ref").mkdir(parents=True, exist_ok=True)
    made = make()
    (folder / "model.tflite").write_bytes(made.bytes())
    run = runtime.Interpreter.from_bytes(made.bytes(), arena_size=1 << 20)
    for k, loud in enumerate((200, 3000, 20000, 32767)):
        x = random.randint(-loud, loud + 1, shape).astype("i2")
        run.set_input(x, 0)
        run.invoke()
        np.save(folder / "ref" / f"set{k}_in0.npy", x)
        for i, out in enumerate(made.g.outputs):
            t = made.g.tensors[out]
            np.save(folder / "ref" / f"set{k}_out{i}.npy", run.get_output(i).reshape(t.shape))
