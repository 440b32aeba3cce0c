#!/usr/bin/env python3
"""usage: select_tf.py FOLDER: makes the cases select_tf, select_tf_text and select_tf_math, models
with operators of TensorFlow ("select TF ops") as its own converter writes them, and what TensorFlow
answers. It needs tensorflow-cpu."""

import pathlib
import sys

import numpy as np
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([1, 6, 6, 2], tf.float32)])
def answers(x):
    """Patches, a list that a loop fills, parts whose sizes depend on the data."""
    boxes = [[0.0, 0.0, 0.5, 0.5], [0.1, 0.2, 0.9, 0.8]]
    patches = tf.image.crop_and_resize(x, boxes, [0, 0], [3, 3])
    rows = tf.map_fn(lambda row: row * 2 + 1, x[0])
    parts = tf.dynamic_partition(x[0, 0], tf.cast(x[0, 0, :, 0] > 0, tf.int32), 2)
    return patches, rows, parts[0], parts[1]


@tf.function(input_signature=[tf.TensorSpec([3], tf.string)])
def text(words):
    lower = tf.strings.lower(words)
    return lower, tf.strings.join([lower, words], separator="-"), tf.strings.strip(words)


@tf.function(input_signature=[tf.TensorSpec([2, 3], tf.float32)])
def math(x):
    return tf.math.tan(x) * 2


def write(folder, function, x):
    (folder / "ref").mkdir(parents=True, exist_ok=True)
    function = function.get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function])
    converter.target_spec.supported_ops = [
        tf.lite.OpsSet.TFLITE_BUILTINS,
        tf.lite.OpsSet.SELECT_TF_OPS,
    ]
    converter._experimental_lower_tensor_list_ops = False
    (folder / "model.tflite").write_bytes(converter.convert())
    np.save(folder / "ref" / "set0_in0.npy", x)
    made = function(tf.constant(x))
    for k, y in enumerate(made if isinstance(made, (list, tuple)) else [made]):
        y = y.numpy()
        y = np.char.decode(y.astype(np.bytes_)) if y.dtype == object else y
        np.save(folder / "ref" / f"set0_out{k}.npy", y)


def main():
    folder = pathlib.Path(sys.argv[1])
    rng = np.random.default_rng(1)
    write(folder / "select_tf", answers, rng.standard_normal((1, 6, 6, 2)).astype(np.float32))
    write(folder / "select_tf_text", text, np.array(["Some Text", "", " ÄÖ x"]))
    write(folder / "select_tf_math", math, rng.standard_normal((2, 3)).astype(np.float32))


if __name__ == "__main__":
    main()
