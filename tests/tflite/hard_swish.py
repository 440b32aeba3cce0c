#!/usr/bin/env python3
"""usage: hard_swish.py FOLDER: makes the case hard_swish, that function of all codes of 8 bits, and
what LiteRT answers. It needs tensorflow-cpu and ai-edge-litert."""

import pathlib
import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter


@tf.function(input_signature=[tf.TensorSpec([1, 16, 16, 1], tf.float32)])
def hard_swish(x):
    return x * tf.nn.relu6(x + 3) * (1 / 6)


def main():
    case = pathlib.Path(sys.argv[1]) / "hard_swish"
    (case / "ref").mkdir(parents=True, exist_ok=True)
    functions = [hard_swish.get_concrete_function()]
    converter = tf.lite.TFLiteConverter.from_concrete_functions(functions)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    given = np.linspace(-10, 1, 256).astype(np.float32).reshape(1, 16, 16, 1)
    converter.representative_dataset = lambda: iter([[given]])
    (case / "model.tflite").write_bytes(converter.convert())
    interpreter = Interpreter(str(case / "model.tflite"), num_threads=1)
    interpreter.allocate_tensors()
    x = np.arange(-128, 128).astype(np.int8).reshape(1, 16, 16, 1)
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    np.save(case / "ref" / "set0_in0.npy", x)
    y = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.save(case / "ref" / "set0_out0.npy", y)


if __name__ == "__main__":
    main()
