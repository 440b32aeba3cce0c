#!/usr/bin/env python3
"""Networks and layers of Keras with random weights, and control flow, as SavedModels: what Tenon
answers against TensorFlow. Needs tensorflow; run by hand:
    tests/tensorflow/generated.py TENON FOLDER [NAME...]
FOLDER gets the models; a table goes to standard output."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from tensorflow import keras

import operators
import preprocessing

L = keras.layers
A = keras.applications
made = {**preprocessing.cases(), **operators.cases()}


def case(f):
    made[f.__name__] = f
    return f


def spread(model, seed=1):
    """Weights that keep signals alive: variances and scales of normalisations are not all 1."""
    random = np.random.RandomState(seed)
    for w in model.weights:
        v = w.numpy()
        if "variance" in w.path or "gamma" in w.path:
            w.assign(random.uniform(0.5, 1.5, v.shape).astype(v.dtype))
        elif "mean" in w.path or "beta" in w.path or "bias" in w.path:
            w.assign(random.uniform(-0.2, 0.2, v.shape).astype(v.dtype))
    return model


def numbers(*shape):
    return np.random.RandomState(5).uniform(-1, 1, shape).astype("f")


def network(name, size=96):
    def build():
        model = spread(getattr(A, name)(weights=None, input_shape=(size, size, 3), classes=20))
        return model, [numbers(2, size, size, 3)]

    made[name] = build


for name in (
    "MobileNet",
    "MobileNetV2",
    "MobileNetV3Small",
    "MobileNetV3Large",
    "ResNet50",
    "ResNet50V2",
    "DenseNet121",
    "EfficientNetB0",
    "EfficientNetV2B0",
    "ConvNeXtTiny",
    "NASNetMobile",
):
    network(name, 224 if name == "NASNetMobile" else 96)
network("InceptionV3", 96)
network("Xception", 96)


def layers(name, shape, *stack):
    def build():
        x = keras.Input(shape)
        y = x
        for layer in stack:
            y = layer()(y) if callable(layer) else layer(y)
        return spread(keras.Model(x, y)), [numbers(2, *shape)]

    made[name] = build


layers("lstm", (7, 5), lambda: L.LSTM(6, return_sequences=True), lambda: L.LSTM(4))
layers("lstm_unrolled", (4, 5), lambda: L.LSTM(6, unroll=True))
layers("gru", (7, 5), lambda: L.GRU(6, return_sequences=True), lambda: L.GRU(3))
layers("gru_v1", (7, 5), lambda: L.GRU(6, reset_after=False))
layers("simple_rnn", (7, 5), lambda: L.SimpleRNN(6))
layers("bidirectional", (7, 5), lambda: L.Bidirectional(L.LSTM(6, return_sequences=True)))
layers("backwards", (7, 5), lambda: L.LSTM(6, go_backwards=True))
layers("conv_lstm", (3, 8, 8, 2), lambda: L.ConvLSTM2D(4, 3, padding="same"))
layers("time_distributed", (3, 8, 8, 2), lambda: L.TimeDistributed(L.Conv2D(4, 3)))
layers(
    "conv1d",
    (20, 3),
    lambda: L.Conv1D(4, 3, padding="causal", dilation_rate=2),
    lambda: L.MaxPooling1D(2),
    lambda: L.GlobalAveragePooling1D(),
)
layers(
    "conv3d",
    (6, 6, 6, 2),
    lambda: L.Conv3D(4, 3, padding="same"),
    lambda: L.MaxPooling3D(2),
    lambda: L.AveragePooling3D(1),
    lambda: L.Conv3DTranspose(2, 2, strides=2),
)
layers(
    "transposed",
    (6, 7, 3),
    lambda: L.Conv2DTranspose(4, 3, strides=2, padding="same"),
    lambda: L.Conv2DTranspose(2, 4, strides=3),
)
layers(
    "separable",
    (9, 9, 3),
    lambda: L.SeparableConv2D(6, 3, depth_multiplier=2),
    lambda: L.DepthwiseConv2D(3, strides=2, padding="same"),
)
layers("dilated", (12, 12, 3), lambda: L.Conv2D(4, 3, dilation_rate=3, padding="same"))
layers("grouped", (12, 12, 4), lambda: L.Conv2D(8, 3, groups=2, padding="same"))
layers(
    "resized",
    (6, 6, 3),
    lambda: L.UpSampling2D(2),
    lambda: L.UpSampling2D(2, interpolation="bilinear"),
    lambda: L.Resizing(9, 11),
)
layers("padded", (6, 6, 3), lambda: L.ZeroPadding2D((1, 2)), lambda: L.Cropping2D(((0, 1), (2, 1))))
layers(
    "normalised",
    (6, 6, 8),
    lambda: L.LayerNormalization(),
    lambda: L.GroupNormalization(4),
    lambda: L.BatchNormalization(),
    lambda: L.UnitNormalization(),
)
layers(
    "activations",
    (30,),
    lambda: L.LeakyReLU(),
    lambda: L.ELU(),
    lambda: L.PReLU(),
    lambda: L.Activation("gelu"),
    lambda: L.Activation("swish"),
    lambda: L.Activation("mish"),
    lambda: L.Activation("hard_sigmoid"),
    lambda: L.Activation("softsign"),
    lambda: L.Softmax(),
)
layers(
    "pools",
    (9, 9, 3),
    lambda: L.AveragePooling2D(3, 2, padding="same"),
    lambda: L.MaxPooling2D(2, 1, padding="same"),
    lambda: L.GlobalMaxPooling2D(),
)


@case
def transformer():
    x = keras.Input((10,), dtype="int32")
    y = L.Embedding(50, 16)(x)
    for _ in range(2):
        a = L.MultiHeadAttention(4, 4)(y, y, use_causal_mask=True)
        y = L.LayerNormalization()(y + a)
        y = L.LayerNormalization()(y + L.Dense(16)(L.Dense(32, activation="gelu")(y)))
    y = L.Dense(50, activation="softmax")(y)
    return spread(keras.Model(x, y)), [
        np.random.RandomState(2).randint(0, 50, (2, 10)).astype("i4")
    ]


@case
def masked_lstm():
    x = keras.Input((8,), dtype="int32")
    y = L.LSTM(6)(L.Embedding(20, 5, mask_zero=True)(x))
    ids = np.random.RandomState(2).randint(1, 20, (2, 8)).astype("i4")
    ids[0, 5:] = 0
    return spread(keras.Model(x, y)), [ids]


def function(name, f, *inputs):
    def build():
        m = tf.Module()
        m.w = tf.Variable(numbers(4, 4))
        specs = [tf.TensorSpec(x.shape, x.dtype, f"x{k}") for k, x in enumerate(inputs)]
        m.f = tf.function(lambda *x: f(m, *x), input_signature=specs)
        return m, list(inputs)

    made[name] = build


def newton(m, x):
    y = tf.ones_like(x)
    k = 0
    while tf.reduce_max(tf.abs(y * y - x)) > 1e-4 and k < 50:
        y = 0.5 * (y + x / y)
        k += 1
    return y, k


def nested(m, x):
    total = tf.zeros([4])
    for i in tf.range(3):
        for j in tf.range(i + 1):
            total = tf.cond(
                j % 2 == 0, lambda: total + tf.linalg.matvec(m.w, x[i]), lambda: total * 0.5
            )
    return total


def growing(m, x):
    out = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    for i in tf.range(5):
        out = out.write(i, x * tf.cast(i, tf.float32))
    return out.stack()


function("newton", newton, np.array([2, 3, 9], "f"))
function("nested", nested, numbers(3, 4))
function("growing", growing, numbers(4))
function("map_fn", lambda m, x: tf.map_fn(lambda v: tf.reduce_sum(v) * v, x), numbers(5, 3))
function("scan", lambda m, x: tf.scan(lambda a, v: a * 0.5 + v, x), numbers(5, 3))
function(
    "switch_case",
    lambda m, i, x: tf.switch_case(i, [lambda: x, lambda: x * 2, lambda: tf.linalg.matvec(m.w, x)]),
    np.int32(2),
    numbers(4),
)
function(
    "einsum", lambda m, x, y: tf.einsum("bij,bjk->bik", x, y), numbers(2, 3, 4), numbers(2, 4, 5)
)
function("slices", lambda m, x: (x[..., 1:3], x[:, ::-1, None, 0], x[-1]), numbers(3, 4, 5))
function(
    "segments",
    lambda m, x: (
        tf.math.segment_sum(x, [0, 0, 1, 2]),
        tf.math.unsorted_segment_sum(x, [2, 0, 2, 1], 3),
    ),
    numbers(4, 3),
)
function(
    "reduced",
    lambda m, x: (
        tf.reduce_sum(x, [0, 2]),
        tf.reduce_mean(x),
        tf.reduce_max(x, 1, keepdims=True),
        tf.argmax(x, 2),
        tf.reduce_logsumexp(x, 1),
        tf.math.reduce_variance(x, 0),
    ),
    numbers(3, 4, 5),
)
function(
    "picked",
    lambda m, x: (
        tf.gather_nd(x, [[0, 1], [2, 3]]),
        tf.gather(x, [1, 1, 0], axis=1),
        tf.nn.top_k(x, 2)[0],
        tf.one_hot([1, 3], 4),
        tf.where(x > 0, x, tf.zeros_like(x)),
        tf.boolean_mask(x, [True, False, True]),
    ),
    numbers(3, 4),
)
function(
    "images",
    lambda m, x: (
        tf.image.resize(x, [9, 7]),
        tf.image.resize(x, [9, 7], "nearest"),
        tf.nn.space_to_depth(x, 2),
        tf.nn.depth_to_space(x, 2),
        tf.nn.local_response_normalization(x),
    ),
    numbers(2, 6, 6, 4),
)
function(
    "fake_quant",
    lambda m, x: (
        tf.quantization.fake_quant_with_min_max_args(x, -1, 1),
        tf.quantization.fake_quant_with_min_max_vars(x, -0.7, 0.9, num_bits=4, narrow_range=True),
    ),
    numbers(4, 5),
)
function(
    "matrices",
    lambda m, x: (
        tf.linalg.band_part(x, 1, 0),
        tf.linalg.diag_part(x),
        tf.linalg.diag(x[0]),
        tf.linalg.matmul(x, x, transpose_a=True),
        tf.linalg.det(x),
    ),
    numbers(4, 4),
)
function(
    "boxes",
    lambda m, b, s: tf.image.non_max_suppression(b, s, 3, 0.4),
    np.array([[0, 0, 2, 2], [0, 0.1, 2, 2], [3, 3, 5, 5], [3, 3, 5, 4.9]], "f"),
    np.array([0.9, 0.8, 0.7, 0.95], "f"),
)
function(
    "crops",
    lambda m, x: tf.image.crop_and_resize(x, [[0, 0, 1, 1], [0.2, 0.1, 0.7, 0.9]], [0, 1], [4, 4]),
    numbers(2, 6, 6, 3),
)
function("spectrum", lambda m, x: tf.abs(tf.signal.rfft(x)), numbers(3, 16))
function(
    "sorted",
    lambda m, x: (
        tf.sort(x, 1),
        tf.argsort(x, 1),
        tf.cumsum(x, 1, reverse=True),
        tf.roll(x, 2, 1),
        tf.reverse(x, [0]),
    ),
    numbers(3, 6),
)
function(
    "stitched", lambda m, x: tf.dynamic_stitch([[0, 2], [1, 3]], [x[:2], x[2:]]), numbers(4, 3)
)
function(
    "unsorted",
    lambda m, x: (
        tf.math.unsorted_segment_max(x, [2, 0, -1, 0], 3),
        tf.math.segment_max(x, [0, 0, 2, 2]),
        tf.math.segment_mean(x, [0, 0, 2, 2]),
        tf.sparse.segment_sum(x, [0, 2, 3], [0, 0, 1]),
        tf.sparse.segment_sqrt_n(x, [0, 2, 3], [0, 0, 1]),
    ),
    numbers(4, 3),
)
function(
    "padded_boxes",
    lambda m, b, s: tf.image.non_max_suppression_padded(b, s, 4, 0.4, pad_to_max_output_size=True),
    np.array([[0, 0, 2, 2], [0, 0.1, 2, 2], [3, 3, 5, 5], [3, 3, 5, 4.9]], "f"),
    np.array([0.9, 0.8, 0.7, 0.95], "f"),
)
function(
    "bicubic",
    lambda m, x: (
        tf.image.resize(x, [9, 7], "bicubic"),
        tf.compat.v1.image.resize_bicubic(x, [9, 7]),
        tf.image.adjust_contrast(x, 1.5),
    ),
    numbers(2, 6, 6, 3),
)
function(
    "cells",
    lambda m, x, h, c: (
        tf.raw_ops.LSTMBlockCell(
            x=x,
            cs_prev=c,
            h_prev=h,
            w=numbers(9, 16),
            wci=numbers(4),
            wcf=numbers(4),
            wco=numbers(4),
            b=numbers(16),
            use_peephole=True,
        )[6],
        tf.raw_ops.GRUBlockCell(
            x=x, h_prev=h, w_ru=numbers(9, 8), w_c=numbers(9, 4), b_ru=numbers(8), b_c=numbers(4)
        )[3],
    ),
    numbers(2, 5),
    numbers(2, 4),
    numbers(2, 4),
)
function(
    "no_nan",
    lambda m, x, y: (
        tf.math.divide_no_nan(x, y),
        tf.math.multiply_no_nan(x, y),
        tf.math.xlogy(y, tf.abs(x)),
        tf.math.expm1(x),
        tf.math.log1p(tf.abs(x)),
        tf.math.erfc(x),
        tf.clip_by_value(x, -0.5, 0.5),
        tf.math.floormod(x, 0.3),
        tf.math.is_finite(x),
        tf.truncatemod(x, 0.3),
    ),
    numbers(3, 4),
    np.round(numbers(3, 4)),
)
function(
    "diagonals",
    lambda m, x: (
        tf.linalg.diag_part(x, k=1),
        tf.linalg.diag_part(x, k=-2),
        tf.linalg.set_diag(x, x[0]),
    ),
    numbers(4, 4),
)
function(
    "patches",
    lambda m, x: (
        tf.reverse_sequence(x, [2, 4], 1, 0),
        tf.pad(x, [[0, 0], [1, 1], [2, 0]], "REFLECT"),
        tf.space_to_batch(x[..., None], [2, 2], [[0, 0], [1, 0]]),
    ),
    numbers(2, 4, 5),
)
function(
    "types",
    lambda m, x: (
        tf.cast(x, tf.int32),
        tf.shape(x),
        tf.size(x),
        tf.rank(x),
        tf.range(tf.shape(x)[0]),
        tf.unique(tf.cast(x[0], tf.int32))[0],
        tf.round(x),
        tf.sign(x),
    ),
    numbers(3, 4) * 5,
)
function(
    "scattered",
    lambda m, x: (
        tf.tensor_scatter_nd_update(x, [[1], [0]], x[:2]),
        tf.scatter_nd([[1], [3]], x[:2], [5, 3]),
    ),
    numbers(4, 3),
)


function("spaced", lambda m, x: tf.linspace(x[0, 0], 3.0, 7), numbers(2, 4))


def texts(x):
    """Bytes, which TensorFlow answers, as characters."""
    return np.char.decode(x.astype("S"), "utf-8") if x.dtype == object else x


def build(name, folder):
    tf.keras.backend.clear_session()
    keras.utils.set_random_seed(3)
    model, inputs = made[name]()
    shutil.rmtree(folder, ignore_errors=True)
    if isinstance(model, keras.Model):
        model.export(str(folder), verbose=False)
    else:
        tf.saved_model.save(model, str(folder))
    f = tf.saved_model.load(str(folder)).signatures["serving_default"]
    names = sorted(f.structured_input_signature[1], key=natural)
    answers = f(**{n: tf.constant(x) for n, x in zip(names, inputs)})
    (folder / "ref").mkdir()
    (folder / "fingerprint.pb").unlink()
    for k, x in enumerate(inputs):
        np.save(folder / "ref" / f"set0_in{k}.npy", x)
    for k, n in enumerate(sorted(answers, key=natural)):
        np.save(folder / "ref" / f"set0_out{k}.npy", texts(answers[n].numpy()))


def natural(text):
    return [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", text)]


def main():
    tenon, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    passed = 0
    names = sys.argv[3:] or list(made)
    for name in names:
        try:
            if not (folder / name / "ref").exists():
                build(name, folder / name)
        except Exception as e:
            print(f"{name:20} not built: {str(e).splitlines()[0][:150]}", flush=True)
            continue
        out = subprocess.run(
            ["timeout", "60", tenon, "test", str(folder / name)], capture_output=True, text=True
        )
        line = (out.stdout.strip().splitlines() or [""])[0]
        passed += line.startswith("pass")
        word, _, why = line.partition(" ")
        print(f"{name:20} {word} {'' if word == 'pass' else why[:200]}", flush=True)
    print(f"{passed} of {len(names)}")


main()
