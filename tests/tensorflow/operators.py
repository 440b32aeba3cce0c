"""Operators of TensorFlow that no layer of Keras makes: texts, ragged and sparse tensors, colours,
boxes, losses."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

L = keras.layers
raw = tf.raw_ops
R = np.random.RandomState(3)


def numbers(*shape):
    return R.uniform(-1, 1, shape).astype("f")


def function_case(f, *inputs):
    def build():
        m = tf.Module()
        specs = [
            tf.TensorSpec(x.shape, tf.string if x.dtype.kind in "OSU" else x.dtype, f"x{k}")
            for k, x in enumerate(inputs)
        ]
        m.f = tf.function(f, input_signature=specs)
        return m, list(inputs)

    return build


def words(*texts):
    return np.array(texts)


def vectorized(**options):
    def build():
        layer = L.TextVectorization(**options)
        layer.adapt(["the cat sat", "on the mat, Bob!", "the CAT"])
        i = keras.Input((1,), dtype="string")
        return keras.Model(i, layer(i)), [np.array([["The cat, ate Bob"], ["mat"], [""]])]

    return build


def vocabulary_table():
    m = tf.Module()
    keys, values = tf.constant(["a", "b"]), tf.constant([0, 1], tf.int64)
    m.t = tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(keys, values), 3)
    spec = tf.TensorSpec([None], tf.string, "x0")
    m.f = tf.function(lambda x0: m.t.lookup(x0) + 0, input_signature=[spec])
    return m, [words("a", "zz", "b", "hello world")]


def hashing(dtype, x):
    def build():
        i = keras.Input((1,), dtype=dtype)
        return keras.Model(i, L.Hashing(7)(i)), [x]

    return build


def ragged(x):
    return tf.RaggedTensor.from_row_lengths(x, [2, 0, 3, 1])


def nested(x):
    return tf.RaggedTensor.from_row_splits(ragged(x), [0, 1, 4])


def cases():
    picture = R.uniform(0, 1, (2, 5, 6, 3)).astype("f")
    square = numbers(2, 4, 4) + 3 * np.eye(4, dtype="f")
    ints = np.array([[5, -9, 7], [1, 0, 300]], "i4")
    texts = words("Ärger, the 1st", "", "A-b_c the", "the the")
    long = words(*("x" * n + "é" for n in (0, 3, 7, 14, 20, 31, 40, 62, 63, 100, 128, 200)))
    boxes = np.sort(R.uniform(0, 1, (2, 12, 1, 2, 2)), 3).astype("f").reshape(2, 12, 1, 4)
    scores = R.uniform(0, 1, (2, 12, 3)).astype("f")
    z = lambda x: tf.complex(x, tf.reverse(x, [-1]))
    sparse = lambda v: tf.SparseTensor([[0, 1], [2, 0], [2, 3]], v, [4, 5])
    made = {
        "hue": (lambda x0: tf.image.adjust_hue(x0, 0.3), picture),
        "saturation": (lambda x0: tf.image.adjust_saturation(x0, 1.7), picture),
        "hsv": (lambda x0: (tf.image.rgb_to_hsv(x0), tf.image.hsv_to_rgb(x0)), picture),
        "shifts": (
            lambda x0: (tf.bitwise.left_shift(x0, 2), tf.bitwise.right_shift(x0, 1)),
            ints,
        ),
        "inverse": (
            lambda x0: (
                tf.linalg.inv(x0),
                tf.linalg.inv(x0, adjoint=True),
                tf.linalg.solve(x0, x0 + 1),
            ),
            square,
        ),
        "fourier_2d": (
            lambda x0: (
                tf.math.real(tf.signal.fft2d(z(x0))),
                tf.math.imag(tf.signal.ifft2d(z(x0))),
                tf.signal.irfft(z(x0), [6]),
                tf.signal.irfft2d(z(x0), [4, 6]),
            ),
            numbers(2, 4, 4),
        ),
        "max_pool_arg": (
            lambda x0: (
                *tf.nn.max_pool_with_argmax(x0, 2, 2, "SAME"),
                tf.nn.max_pool_with_argmax(x0, 3, 1, "VALID", include_batch_in_index=True)[1],
                raw.MaxPoolV2(
                    input=x0, ksize=[1, 2, 2, 1], strides=[1, 2, 1, 1], padding="SAME"
                ),
            ),
            picture,
        ),
        "cross_entropy": (
            lambda x0, x1: (
                tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(x0 * 2), x0),
                tf.nn.sparse_softmax_cross_entropy_with_logits(x1, x0),
                raw.SoftmaxCrossEntropyWithLogits(features=x0, labels=tf.nn.softmax(x0))[1],
            ),
            numbers(3, 4),
            np.array([2, 0, 3], "i4"),
        ),
        "bincount": (
            lambda x0: (
                raw.Bincount(arr=x0, size=5, weights=tf.constant([], tf.int32)),
                raw.Bincount(arr=x0, size=3, weights=tf.ones_like(x0, tf.float32) * 0.5),
                tf.math.bincount(x0),
            ),
            np.array([[1, 2, 4], [1, 7, 0]], "i4"),
        ),
        "partition": (
            lambda x0, x1: (*tf.dynamic_partition(x0, x1, 3), tf.dynamic_partition(x1, x1, 2)[1]),
            numbers(4, 2),
            np.array([1, 0, 1, 0], "i4"),
        ),
        "ctc_greedy": (
            lambda x0, x1: (
                *raw.CTCGreedyDecoder(inputs=x0, sequence_length=x1, merge_repeated=True),
                *raw.CTCGreedyDecoder(inputs=x0, sequence_length=x1, blank_index=1)[:2],
            ),
            numbers(9, 3, 4),
            np.array([9, 5, 2], "i4"),
        ),
        "combined_nms": (
            lambda x0, x1: tuple(
                tf.image.combined_non_max_suppression(x0, x1, 3, 7, 0.4, 0.3)
            )
            + tuple(
                tf.image.combined_non_max_suppression(
                    tf.tile(x0 * 1.3, [1, 1, 3, 1]), x1, 2, 50, 0.5, 0.2, pad_per_class=True
                )
            ),
            boxes,
            scores,
        ),
        "ragged_range": (
            lambda x0: (
                *raw.RaggedRange(starts=x0, limits=x0 + 3, deltas=tf.ones_like(x0)),
                raw.RaggedRange(starts=[5.0, 1.0], limits=[0.0, 1.0], deltas=[-2.0, 1.0])[1],
            ),
            np.array([2, 5, 9], "i4"),
        ),
        "ragged_dense": (
            lambda x0: (
                ragged(x0).to_tensor(),
                ragged(x0).to_tensor(7.0, shape=[None, 2]),
                ragged(x0).to_tensor(shape=[5, 4]),
                tf.RaggedTensor.from_value_rowids(x0, [0, 0, 2, 2, 3, 3], 5).to_tensor(),
            ),
            numbers(6),
        ),
        "ragged_rows": (
            lambda x0: ragged(x0).to_tensor(-1.0),
            numbers(6, 2),
        ),
        "ragged_nested": (
            lambda x0: (
                nested(x0).to_tensor(),
                *raw.RaggedTensorToSparse(
                    rt_nested_splits=[[0, 1, 4], [0, 2, 2, 5, 6]], rt_dense_values=x0
                ),
            ),
            numbers(6),
        ),
        "ragged_gather": (
            lambda x0, x1: (
                tf.gather(ragged(x0), x1).flat_values,
                tf.gather(ragged(x0), x1).row_splits,
                tf.gather(nested(x0), [1, 0, 1]).flat_values,
            ),
            numbers(6),
            np.array([2, 0, 2, 1], "i4"),
        ),
        "sparse": (
            lambda x0: (
                tf.sparse.reshape(sparse(x0), [2, -1]).indices,
                tf.sparse.reshape(sparse(x0), [2, -1]).dense_shape,
                tf.sparse.fill_empty_rows(sparse(x0), 9.0)[0].indices,
                tf.sparse.fill_empty_rows(sparse(x0), 9.0)[0].values,
                tf.sparse.fill_empty_rows(sparse(x0), 9.0)[1],
                tf.sparse.to_dense(sparse(x0)),
            ),
            numbers(3),
        ),
        "text_case": (
            lambda x0: (
                tf.strings.lower(x0),
                tf.strings.upper(x0),
                tf.strings.lower(x0, encoding="utf-8"),
            ),
            texts,
        ),
        "text_replace": (
            lambda x0: (
                tf.strings.regex_replace(x0, "[aeiou]|the *", "<\\0>"),
                tf.strings.regex_replace(x0, "", "-"),
                tf.strings.regex_replace(x0, "(?i)T.*?[eh]", "#", replace_global=False),
                tf.strings.strip(tf.strings.join([" ", x0, "\n"])),
            ),
            texts,
        ),
        "text_join": (lambda x0: tf.strings.join([x0, "b", x0], separator="--"), texts),
        "text_numbers": (
            lambda x0, x1: (
                tf.strings.to_number(x0),
                tf.strings.as_string(x1),
                tf.strings.as_string(x1 > 3),
            ),
            words("1.5", "-2e3", "7"),
            ints,
        ),
        "text_hash": (lambda x0: tf.strings.to_hash_bucket_fast(x0, 2**60 + 7), long),
        "text_split": (
            lambda x0: (
                tf.strings.split(x0).to_tensor(),
                tf.strings.split(x0, "e").to_tensor("?"),
                tf.strings.split(x0, sep=" ", maxsplit=1).row_splits,
                *raw.StringSplit(input=x0, delimiter=" "),
            ),
            texts,
        ),
    }
    made = {name: function_case(*c) for name, c in made.items()}
    made["vectorized"] = vectorized(output_mode="int", output_sequence_length=5)
    made["vectorized_open"] = vectorized(output_mode="int", standardize="strip_punctuation")
    made["vectorized_hot"] = vectorized(output_mode="multi_hot")
    made["vocabulary_table"] = vocabulary_table
    made["hashed"] = hashing("string", np.array([["a"], ["hello"], [""]]))
    made["hashed_numbers"] = hashing("int64", np.array([[1], [-77], [10**9]]))
    return made
