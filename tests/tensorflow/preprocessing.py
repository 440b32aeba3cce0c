"""Keras layers that prepare data, tables of files, and assignments in branches and loops."""

import pathlib
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras

L = keras.layers


def numbers(*shape):
    return np.random.RandomState(5).uniform(-3, 3, shape).astype("f")


def adapted(layer, data):
    layer.adapt(data)
    return layer


def layers():
    x, picture = numbers(6, 4), numbers(2, 9, 8, 3)
    one = np.array([[1], [4], [2], [0]], "i8")
    two = np.array([[1, 2], [4, 4], [2, 0], [0, 3]], "i8")
    words = np.array([["the"], ["cat"], ["dog"], ["unknown"]])
    edges, vocabulary, known = [-1.0, 0.0, 1.0], ["the", "cat"], [1, 2, 7]
    yield "normalization", lambda: adapted(L.Normalization(), x), x
    yield "normalization_axis", lambda: adapted(L.Normalization(axis=1), x), x
    yield "normalization_back", lambda: L.Normalization(mean=2.0, variance=3.0, invert=True), x
    yield "discretization", lambda: L.Discretization(edges), x
    for mode in ("one_hot", "multi_hot", "count"):
        hot = mode == "one_hot"
        yield (
            f"discretization_{mode}",
            lambda m=mode: L.Discretization(edges, output_mode=m),
            x[:, :1] if hot else x,
        )
        yield (
            f"category_{mode}",
            lambda m=mode: L.CategoryEncoding(6, output_mode=m),
            one if hot else two,
        )
        yield (
            f"integer_{mode}",
            lambda m=mode: L.IntegerLookup(vocabulary=known, output_mode=m),
            one if hot else two,
        )
        yield (
            f"string_{mode}",
            lambda m=mode: L.StringLookup(vocabulary=vocabulary, output_mode=m),
            words,
        )
    yield "integer_lookup", lambda: L.IntegerLookup(vocabulary=known), one
    yield "integer_two_oov", lambda: L.IntegerLookup(vocabulary=known, num_oov_indices=2), one
    yield "string_lookup", lambda: L.StringLookup(vocabulary=vocabulary), words
    yield "string_masked", lambda: L.StringLookup(vocabulary=vocabulary, mask_token=""), words
    yield "string_back", lambda: L.StringLookup(vocabulary=vocabulary, invert=True), one % 3
    yield (
        "string_tf_idf",
        lambda: L.StringLookup(
            vocabulary=vocabulary, output_mode="tf_idf", idf_weights=[0.5, 0.7]
        ),
        words,
    )
    yield "rescaling", lambda: L.Rescaling(1 / 127.5, -1.0), x
    yield "resizing_cropped", lambda: L.Resizing(5, 7, crop_to_aspect_ratio=True), picture
    yield "resizing_padded", lambda: L.Resizing(5, 7, pad_to_aspect_ratio=True), picture
    yield "center_crop", lambda: L.CenterCrop(5, 4), picture
    yield "auto_contrast", lambda: L.AutoContrast(), np.abs(picture) * 80
    yield (
        "mel",
        lambda: L.MelSpectrogram(
            fft_length=256, sequence_stride=64, num_mel_bins=16, sampling_rate=8000
        ),
        numbers(1, 1024),
    )
    yield "einsum_dense", lambda: L.EinsumDense("ab,bc->ac", output_shape=5), x
    yield "spectral", lambda: L.SpectralNormalization(L.Dense(3)), x
    yield "rms", lambda: L.RMSNormalization(), x


def layer_case(make, x):
    def build():
        i = keras.Input(x.shape[1:], dtype="string" if x.dtype.kind == "U" else x.dtype.name)
        return keras.Model(i, make()(i)), [x]

    return build


def table_case(text, key, value, x, missing, delimiter="\t"):
    def build():
        m = tf.Module()
        path = pathlib.Path(tempfile.mkdtemp()) / "table.txt"
        path.write_text(text)
        types = {"U": tf.string, "i": tf.int64}
        kind = tf.string if isinstance(missing, str) else tf.int64
        init = tf.lookup.TextFileInitializer(
            str(path), types[x.dtype.kind], key, kind, value, delimiter=delimiter
        )
        m.t = tf.lookup.StaticHashTable(init, missing)
        spec = tf.TensorSpec([None], types[x.dtype.kind], "x0")
        m.f = tf.function(lambda x0: m.t.lookup(x0), input_signature=[spec])
        return m, [x]

    return build


def in_branches(m, x):
    if tf.reduce_sum(x) > 0:
        m.v.assign_add(x)
    else:
        m.v.assign(-x)
    return m.v * 1.0


def in_loops(m, x):
    for i in tf.range(4):
        if i % 2 == 0:
            m.v.assign_add(x)
        else:
            m.n.assign_add(1)
    while m.n < 5:
        m.n.assign_add(2)
    return m.v.read_value(), m.n.read_value()


def in_cases(m, x):
    return tf.switch_case(
        tf.cast(x[0], tf.int32),
        [lambda: m.v.assign(x), lambda: m.v.assign(2 * x), lambda: m.v.assign_sub(x)],
    )


def assigned_case(f):
    def build():
        m = tf.Module()
        m.v, m.n = tf.Variable(tf.zeros([3])), tf.Variable(0)
        spec = tf.TensorSpec([3], tf.float32, "x0")
        m.f = tf.function(lambda x0: f(m, x0), input_signature=[spec])
        return m, [np.array([1, 2, 3], "f")]

    return build


def cases():
    """Name -> what builds a model and its inputs."""
    made = {name: layer_case(make, x) for name, make, x in layers()}
    whole, number = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    lines = "the\ncat\ndog\n"
    words = np.array(["cat", "dog", "zzz"])
    made["file_words"] = table_case(lines, whole, number, words, -1)
    made["file_lines"] = table_case(lines, number, whole, np.array([0, 2, 9], "i8"), "?")
    made["file_columns"] = table_case("a 3\ncat 5\nc 7", 0, 1, words, -1, " ")
    for f in (in_branches, in_loops, in_cases):
        made["assigned_" + f.__name__] = assigned_case(f)
    return made
