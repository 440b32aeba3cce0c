#!/usr/bin/env python3
"""usage: select_tf.py FOLDER: makes the case select_tf, a model with operators of TensorFlow
("select TF ops") as its own converter writes it, and what TensorFlow answers. It needs
tensorflow-cpu."""

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


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder / "ref").mkdir(parents=True, exist_ok=True)
    function = answers.get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function])
    converter.target_spec.supported_ops = [
        tf.lite.OpsSet.TFLITE_BUILTINS,
        tf.lite.OpsSet.SELECT_TF_OPS,
    ]
    converter._experimental_lower_tensor_list_ops = False
    (folder / "model.tflite").write_bytes(converter.convert())
    x = np.random.default_rng(1).standard_normal((1, 6, 6, 2)).astype(np.float32)
    np.save(folder / "ref" / "set0_in0.npy", x)
    for k, y in enumerate(function(tf.constant(x))):
        np.save(folder / "ref" / f"set0_out{k}.npy", y.numpy())


if __name__ == "__main__":
    main()
