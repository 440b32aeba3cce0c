#!/usr/bin/env python3
"""Small Keras models of random layers, converted by TensorFlow in each way that it can quantise:
writes them to a folder, one each. Needs tensorflow; run by hand:
    python3 tests/tflite/keras_made.py FOLDER [--n N] [--seed S] [--only MODE...]
then, with ai-edge-litert:
    python3 tests/tflite/against_litert.py TENON FOLDER"""

import argparse
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

K = tf.keras
L = K.layers
MODES = ("none", "dynamic", "int8", "int16x8", "f16")


class Random:
    def __init__(self, seed):
        self.r = np.random.RandomState(seed)

    def pick(self, *options):
        return options[self.r.randint(len(options))]

    def of(self, lo, hi):
        return int(self.r.randint(lo, hi + 1))


def activation(m):
    return m.pick(
        None, None, "relu", "relu6", "tanh", "sigmoid", "elu", "gelu", "swish", "hard_sigmoid",
        "softplus", "selu", "leaky_relu", "softsign", "exponential", "mish", "hard_swish",
    )


def image_layer(m, x):
    """One layer on [N, Y, X, C]."""
    c, side = x.shape[-1], min(x.shape[1], x.shape[2])
    pad, k = m.pick("same", "valid"), min(m.pick(1, 2, 3, 5), side)
    kind = m.of(0, 20)
    if kind <= 3:
        wide = m.pick(1, 1, 2) if k > 1 and (k - 1) * 2 < side else 1
        return L.Conv2D(
            m.of(1, 12), k, strides=m.pick(1, 1, 2) if wide == 1 else 1, padding=pad,
            dilation_rate=wide, activation=activation(m), use_bias=m.pick(True, True, False),
        )(x)
    if kind <= 5:
        y = L.DepthwiseConv2D(
            k, strides=m.pick(1, 2), padding=pad, depth_multiplier=m.pick(1, 1, 2),
            activation=activation(m),
        )(x)
        return y
    if kind == 6:
        return L.SeparableConv2D(m.of(1, 8), k, padding=pad, activation=activation(m))(x)
    if kind == 7:
        return L.Conv2DTranspose(
            m.of(1, 8), k, strides=m.pick(1, 2), padding=pad, activation=activation(m)
        )(x)
    if kind == 8:
        return m.pick(L.MaxPool2D, L.AveragePooling2D)(
            min(2, side), strides=m.pick(1, 2), padding=pad
        )(x)
    if kind == 9:
        return L.BatchNormalization()(x)
    if kind == 10:
        return L.UpSampling2D(2, interpolation=m.pick("nearest", "bilinear"))(x)
    if kind == 11:
        return L.ZeroPadding2D(((m.of(0, 2), m.of(0, 2)), (m.of(0, 2), m.of(0, 2))))(x)
    if kind == 12 and side > 2:
        return L.Cropping2D(((1, 0), (0, 1)))(x)
    if kind == 13:
        return L.PReLU(shared_axes=m.pick([1, 2], None))(x)
    if kind == 14:
        y = L.Conv2D(c, 1, activation=activation(m))(x)
        join = m.pick(L.Add, L.Multiply, L.Subtract, L.Maximum, L.Minimum, L.Average)
        return join()([x, y])
    if kind == 15:
        return L.Concatenate(axis=m.pick(-1, 1, 2))([x, L.Activation("relu")(x)])
    if kind == 16:
        s = L.GlobalAveragePooling2D(keepdims=True)(x)
        s = L.Conv2D(c, 1, activation="sigmoid")(s)
        return L.Multiply()([x, s])
    if kind == 17:
        return L.LayerNormalization()(x)
    if kind == 18:
        return L.Resizing(m.of(2, 12), m.of(2, 12), interpolation=m.pick("nearest", "bilinear"))(x)
    if kind == 19 and c % 2 == 0:
        return L.GroupNormalization(2)(x)
    return L.Activation(activation(m) or "relu")(x)


def row_layer(m, x):
    """One layer on [N, C]."""
    kind = m.of(0, 9)
    if kind <= 4:
        return L.Dense(m.of(1, 16), activation=activation(m), use_bias=m.pick(True, False))(x)
    if kind == 5:
        return L.BatchNormalization()(x)
    if kind == 6:
        return L.Softmax()(x)
    if kind == 7:
        return L.LayerNormalization()(x)
    if kind == 8:
        return L.UnitNormalization()(x)
    return L.Add()([x, L.Dense(x.shape[-1], activation=activation(m))(x)])


def sequence_layer(m, x):
    """One layer on [N, T, C]."""
    kind = m.of(0, 9)
    if kind <= 2:
        cell = m.pick(L.LSTM, L.GRU, L.SimpleRNN, L.LSTM)
        y = cell(
            m.of(1, 8), return_sequences=True, go_backwards=m.pick(False, False, True),
            unroll=m.pick(False, True),
        )
        return L.Bidirectional(y)(x) if m.pick(0, 0, 1) else y(x)
    if kind == 3:
        return L.Conv1D(m.of(1, 8), min(3, x.shape[1]), padding=m.pick("same", "valid", "causal"),
                        activation=activation(m))(x)
    if kind == 4:
        return L.MultiHeadAttention(m.pick(1, 2), 4)(x, x)
    if kind == 5:
        return L.Dense(m.of(1, 8), activation=activation(m))(x)
    if kind == 6:
        return L.LayerNormalization()(x)
    if kind == 7:
        return m.pick(L.MaxPool1D, L.AveragePooling1D)(2, padding="same")(x)
    if kind == 8:
        return L.TimeDistributed(L.Dense(m.of(1, 6), activation=activation(m)))(x)
    return L.Permute((2, 1))(x)


def network(m):
    family = m.pick("image", "image", "row", "sequence")
    if family == "image":
        x = first = K.Input((m.of(3, 12), m.of(3, 12), m.of(1, 6)), batch_size=1)
        for _ in range(m.of(1, 5)):
            x = image_layer(m, x)
        if m.pick(0, 1):
            x = m.pick(L.Flatten(), L.GlobalAveragePooling2D(), L.GlobalMaxPooling2D())(x)
            x = row_layer(m, x)
    elif family == "row":
        x = first = K.Input((m.of(1, 20),), batch_size=m.pick(1, 1, 3))
        for _ in range(m.of(1, 4)):
            x = row_layer(m, x)
    else:
        x = first = K.Input((m.of(2, 8), m.of(1, 8)), batch_size=1)
        for _ in range(m.of(1, 3)):
            x = sequence_layer(m, x)
        if m.pick(0, 1):
            x = row_layer(m, L.Flatten()(x))
    return K.Model(first, x)


def shake(model, r):
    """Weights that no initialiser gives: statistics of normalisation, biases."""
    for w in model.weights:
        v = w.numpy()
        if "seed" in w.path or v.dtype.kind != "f":
            continue
        new = v + r.uniform(-0.3, 0.3, v.shape)
        w.assign(np.abs(new) + 0.3 if "variance" in w.path else new)


def converted(model, mode, r):
    c = tf.lite.TFLiteConverter.from_keras_model(model)
    shape = model.inputs[0].shape

    def samples():
        for _ in range(8):
            yield [r.uniform(-2, 2, shape).astype("f4")]

    if mode != "none":
        c.optimizations = [tf.lite.Optimize.DEFAULT]
    if mode == "f16":
        c.target_spec.supported_types = [tf.float16]
    elif mode == "int8":
        c.representative_dataset = samples
        c.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        c.inference_input_type = c.inference_output_type = tf.int8 if r.randint(2) else tf.float32
    elif mode == "int16x8":
        c.representative_dataset = samples
        c.target_spec.supported_ops = [
            tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8,
            tf.lite.OpsSet.TFLITE_BUILTINS,
        ]
    return c.convert()


def make(seed, mode, folder):
    try:
        K.utils.set_random_seed(seed)
        m = Random(seed)
        model = network(m)
        shake(model, m.r)
        data = converted(model, mode, m.r)
    except Exception as e:  # what Keras or the converter does not take
        print(mode, seed, "not made:", type(e).__name__, str(e).splitlines()[0][:120], flush=True)
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.tflite").write_bytes(data)
    return 0


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--n", type=int, default=50, help="networks, each converted in one mode")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--only", nargs="*", default=MODES, help="modes: " + " ".join(MODES))
    a = p.parse_args()
    for seed in range(a.seed, a.seed + a.n):
        mode = a.only[seed % len(a.only)]
        pid = os.fork()  # the converter may end its process
        if not pid:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os._exit(make(seed, mode, a.folder / mode / str(seed)))
        if os.waitpid(pid, 0)[1]:
            print(mode, seed, "not made: the converter failed", flush=True)


if __name__ == "__main__":
    main()
