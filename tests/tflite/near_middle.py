#!/usr/bin/env python3
"""usage: near_middle.py FOLDER: makes the cases near_middle and near_middle_... and what LiteRT
answers: numbers next to the middle of two steps, where x / step and x * (1 / step) round to
different codes. It needs tensorflow-cpu and ai-edge-litert."""

import pathlib
import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

F = np.float32


def between(step, factor, size, most):
    """Numbers whose quotient and product round differently."""
    k = np.arange(-most, most, dtype=F) + F(0.5)
    near = np.concatenate([np.nextafter(k * step, F(s) * np.inf, dtype=F) for s in (-1, 1)])
    near = np.concatenate([near, k * step])
    odd = near[np.rint(near / step) != np.rint(near * factor)]
    assert len(odd)
    return np.resize(odd, size)


def keep(folder, converter, make):
    (folder / "ref").mkdir(parents=True, exist_ok=True)
    (folder / "model.tflite").write_bytes(converter.convert())
    run = Interpreter(str(folder / "model.tflite"), num_threads=1)
    run.allocate_tensors()
    x = make(run)
    run.set_tensor(run.get_input_details()[0]["index"], x)
    run.invoke()
    np.save(folder / "ref" / "set0_in0.npy", x)
    np.save(
        folder / "ref" / "set0_out0.npy", run.get_tensor(run.get_output_details()[0]["index"])
    )


def converter_of(function):
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    return converter


def quantised(folder):
    @tf.function(input_signature=[tf.TensorSpec([1, 64], tf.float32)])
    def twice(x):
        return tf.concat([x, x], 1)

    converter = converter_of(twice)
    converter.representative_dataset = lambda: iter([[np.linspace(-0.9, 1.1, 64, dtype=F)[None]]])
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_output_type = tf.int8

    def make(run):
        step = next(d["quantization"][0] for d in run.get_tensor_details() if d["dtype"] == np.int8)
        return between(F(step), F(1) / F(step), (1, 64), 100)

    keep(folder, converter, make)


def dynamic(folder):
    weights = np.random.RandomState(1).uniform(-1, 1, (3, 3, 4, 64)).astype(F)

    @tf.function(input_signature=[tf.TensorSpec([1, 6, 6, 4], tf.float32)])
    def conv(x):
        return tf.nn.conv2d(x, weights, 1, "SAME")

    def make(_):
        span = F(1.1) - F(-0.9)
        x = between(span / F(255), F(255) / span, 144, 100)
        x[:2] = -0.9, 1.1
        return x.reshape(1, 6, 6, 4)

    keep(folder, converter_of(conv), make)


def depthwise(folder):
    weights = np.random.RandomState(1).uniform(-1, 1, (3, 3, 128, 1)).astype(F)

    @tf.function(input_signature=[tf.TensorSpec([1, 3, 3, 128], tf.float32)])
    def conv(x):
        return tf.nn.depthwise_conv2d(x, weights, [1, 1, 1, 1], "SAME")

    def make(_):
        span = F(1.1) - F(-0.9)
        step = span / F(255)
        x = np.arange(-100, 100, dtype=F) + F(0.5)
        x = np.concatenate([x * step, np.nextafter(x * step, F(9)), np.nextafter(x * step, -F(9))])
        v = x * (F(1) / step)
        away = np.trunc(v.astype("d") + np.copysign(0.5, v))
        x = np.resize(x[away != np.rint(x * (F(255) / span))], 1152)
        x[:2] = -0.9, 1.1
        return x.reshape(1, 3, 3, 128)

    keep(folder, converter_of(conv), make)


if __name__ == "__main__":
    quantised(pathlib.Path(sys.argv[1]) / "near_middle")
    dynamic(pathlib.Path(sys.argv[1]) / "near_middle_dynamic")
    depthwise(pathlib.Path(sys.argv[1]) / "near_middle_depthwise")
