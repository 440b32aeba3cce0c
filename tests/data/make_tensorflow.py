#!/usr/bin/env python3
"""Writes tests/data/tensorflow and the corpus of the fuzz target: small graphs with what TensorFlow
answers. Needs tensorflow; run by hand: tests/data/make_tensorflow.py"""
import os
import pathlib
import shutil
import subprocess
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from google.protobuf import text_format

v1 = tf.compat.v1
here = pathlib.Path(__file__).resolve().parent
corpus = here.parent / "fuzz" / "corpus" / "tensorflow"
random = np.random.RandomState(7)


def numbers(*shape):
    return random.uniform(-1, 1, shape).astype("f")


def characters(x):
    """Bytes, which TensorFlow answers, as characters."""
    return np.char.decode(x.astype("S"), "utf-8") if x.dtype == object else x


def store(folder, inputs, outputs, run=0):
    ref = folder / "ref"
    ref.mkdir(parents=True, exist_ok=True)
    for k, x in enumerate(inputs):
        np.save(ref / f"set{run}_in{k}.npy", x)
    for k, y in enumerate(outputs):
        np.save(ref / f"set{run}_out{k}.npy", characters(y))


def graph(name, build, *inputs, text=False):
    """A GraphDef; build() answers its placeholders and outputs."""
    folder = here / "tensorflow" / name
    folder.mkdir(parents=True, exist_ok=True)
    with tf.Graph().as_default() as g, v1.Session(graph=g) as session:
        v1.disable_control_flow_v2()
        placeholders, outputs = build()
        answers = session.run(outputs, dict(zip(placeholders, inputs)))
        d = g.as_graph_def()
    if text:
        (folder / "model.pbtxt").write_text(text_format.MessageToString(d))
    else:
        (folder / "model.pb").write_bytes(d.SerializeToString())
    store(folder, inputs, answers)


def net():
    x = v1.placeholder(tf.float32, [None, 8, 8, 3], "x")
    y = tf.nn.conv2d(x, numbers(3, 3, 3, 4), [1, 2, 2, 1], "SAME")
    y = v1.nn.fused_batch_norm(y, numbers(4), numbers(4), numbers(4), numbers(4) ** 2 + 1,
                               is_training=False)[0]
    y = tf.nn.relu6(tf.nn.bias_add(y, numbers(4)))
    y = tf.nn.depthwise_conv2d(y, numbers(3, 3, 4, 2), [1, 1, 1, 1], "SAME")
    y = tf.nn.max_pool2d(y, 2, 2, "VALID")
    y = tf.reshape(y, [tf.shape(y)[0], 2 * 2 * 8])
    y = tf.matmul(y, numbers(5, 32), transpose_b=True, name="product")
    return [x], [tf.nn.softmax(y, name="y")]


def control():
    x = v1.placeholder(tf.float32, [3, 4], "x")
    w = numbers(4, 4)

    def body(k, h, out):
        h = tf.tanh(tf.matmul(h, w) + x)
        return k + 1, h, out.write(k, h)

    start = (0, tf.zeros([3, 4]), tf.TensorArray(tf.float32, 5, element_shape=[3, 4]))
    last = v1.while_loop(lambda k, h, out: k < 5, body, start)
    a = tf.identity(last[2].stack(), "steps")
    b = v1.cond(tf.reduce_sum(x) > 0, lambda: last[1] * 2, lambda: last[1] - 1)
    return [x], [a, tf.identity(b, "chosen")]


def moves():
    x = v1.placeholder(tf.float32, [2, 6, 4], "x")
    parts = tf.split(x, 2, axis=2)
    y = tf.concat([parts[1], tf.reverse(parts[0], [1])], axis=-1)
    y = tf.pad(y, [[0, 0], [1, 1], [0, 0]], "SYMMETRIC")
    y = y[:, 1:-1:2, ::-1]
    y = tf.gather(y, [2, 0], axis=1)
    return [x], [tf.stack(tf.unstack(y, axis=0), axis=1, name="y")]


def words():
    """Texts: as TextVectorization and Hashing of Keras treat them."""
    x = v1.placeholder(tf.string, [3], "x")
    plain = tf.strings.regex_replace(tf.strings.lower(x), r"[!,.]|the *", "")
    parts = tf.strings.split(tf.strings.join([plain, "End"], separator=" "))
    y = [tf.identity(plain, "plain"), parts.to_tensor("?"), parts.row_splits]
    y += [tf.strings.to_hash_bucket_fast(x, 1 << 40), tf.strings.as_string(parts.row_splits)]
    return [x], [tf.identity(v, f"y{k}") for k, v in enumerate(y)]


def ragged():
    x = v1.placeholder(tf.float32, [6], "x")
    to = v1.placeholder(tf.int32, [6], "to")
    rows = tf.RaggedTensor.from_row_lengths(x, [2, 0, 3, 1])
    sparse = tf.SparseTensor([[0, 1], [2, 0], [2, 3], [3, 1], [3, 2], [3, 3]], x, [5, 4])
    y = [rows.to_tensor(9.0, shape=[None, 2]), tf.gather(rows, [2, 0, 2]).flat_values]
    y += [tf.sparse.fill_empty_rows(sparse, 7.0)[0].values]
    y += tf.raw_ops.SparseReshape(input_indices=sparse.indices, input_shape=sparse.dense_shape,
                                  new_shape=[2, -1])
    y += tf.dynamic_partition(x, to, 3)
    y += tf.raw_ops.RaggedRange(starts=to, limits=to * 2, deltas=tf.ones_like(to))
    return [x, to], [tf.identity(v, f"y{k}") for k, v in enumerate(y)]


def pictures():
    x = v1.placeholder(tf.float32, [1, 5, 6, 3], "x")
    y = [tf.image.adjust_saturation(tf.image.adjust_hue(x, 0.3), 1.7)]
    y += tf.nn.max_pool_with_argmax(x, 2, 2, "SAME")
    boxes = tf.reshape(tf.sort(tf.reshape(x, [1, 15, 3, 2]), 2)[:, :, ::2], [1, 15, 1, 4])
    y += tf.image.combined_non_max_suppression(boxes, tf.reshape(x[..., :1], [1, 15, 2]), 3, 5)
    y += tf.raw_ops.CTCGreedyDecoder(inputs=x[0], sequence_length=[5, 2, 4, 1, 5, 3],
                                     merge_repeated=True)
    return [x], [tf.identity(v, f"y{k}") for k, v in enumerate(y)]


class Module(tf.Module):
    def __init__(self):
        self.w = tf.Variable(numbers(4, 3), name="w")
        self.b = tf.Variable(numbers(3), name="b")
        self.table = tf.Variable(numbers(5, 4), name="table")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, "ids")])
    def serve(self, ids):
        x = tf.gather(self.table, ids)
        y = tf.matmul(x, self.w) + self.b
        k = tf.constant(0)
        while k < 3:
            y = tf.tanh(y + self.b)
            k += 1
        if tf.reduce_sum(y) > 0:
            y = y * 2
        else:
            y = y - 1
        return {"y": y, "n": tf.shape(ids)[0]}

    @tf.function(input_signature=[tf.TensorSpec([2, 4], tf.float32, "x")])
    def product(self, x):
        return {"p": tf.matmul(x, self.w)}


def diagonals():
    raw = tf.raw_ops
    x = v1.placeholder(tf.float32, [2, 3, 4], "x")
    d = v1.placeholder(tf.float32, [2, 3, 3], "d")
    y = [tf.linalg.diag_part(x, k=(-1, 1), align=a, padding_value=7)
         for a in ("LEFT_LEFT", "RIGHT_LEFT", "LEFT_RIGHT", "RIGHT_RIGHT")]
    y += [tf.linalg.diag_part(x, k=-2), tf.linalg.diag(d[:, 0], padding_value=5)]
    y += [tf.linalg.diag(d, k=(-1, 1), num_rows=3, num_cols=4, padding_value=-1)]
    y += [tf.linalg.diag(d[:, 0], k=1), tf.linalg.set_diag(x, d, k=(0, 2))]
    y += [tf.linalg.set_diag(x, d[:, 0], k=1)]
    y += [raw.MatrixDiagPartV2(input=x, k=[-1, 1], padding_value=2.0)]
    return [x, d], [tf.identity(v, f"y{k}") for k, v in enumerate(y)]


def patches():
    raw = tf.raw_ops
    x = v1.placeholder(tf.float32, [1, 6, 5, 2], "x")
    dy = v1.placeholder(tf.float32, [1, 3, 3, 2], "dy")
    y = [tf.image.extract_patches(x, [1, 3, 2, 1], [1, 2, 1, 1], [1, 1, 2, 1], "SAME")]
    y += [tf.nn.dilation2d(x, dy[0, :2], [1, 2, 2, 1], "SAME", "NHWC", [1, 1, 1, 1])]
    y += [raw.Conv2DBackpropFilter(input=x, filter_sizes=[3, 2, 2, 2], out_backprop=dy,
                                   strides=[1, 2, 2, 1], padding="SAME")]
    y += [raw.ResizeArea(images=x, size=[4, 3]), raw.ResizeArea(images=x, size=[9, 5])]
    y += [raw.ResizeArea(images=x[:, :1], size=[3, 2], align_corners=True)]
    return [x, dy], [tf.identity(v, f"y{k}") for k, v in enumerate(y)]


def functions():
    """Remainders with the sign of the dividend, what lies near 0, what is counted or found."""
    raw = tf.raw_ops
    x = v1.placeholder(tf.float32, [3, 3], "x")
    n = v1.placeholder(tf.int32, [6], "n")
    square = tf.matmul(x, x, transpose_b=True) + 2 * tf.eye(3)
    y = [raw.Mod(x=n, y=3), raw.Mod(x=x, y=0.3), tf.math.log1p(x * 1e-6), tf.math.expm1(x * 1e-6)]
    y += list(raw.UniqueWithCounts(x=n, out_idx=tf.int64)) + list(raw.ListDiff(x=n, y=[5, -4]))
    y += [raw.InTopKV2(predictions=x, targets=[0, 2, 3], k=2), raw.EuclideanNorm(input=x, axis=1)]
    y += [tf.searchsorted(tf.sort(x), x, "left"), tf.searchsorted(tf.sort(x), x + 0.5, "right")]
    y += [raw.ApproximateEqual(x=x, y=x + 0.1, tolerance=0.2), tf.math.erfinv(x * 0.9)]
    y += [tf.linalg.triangular_solve(square, x, lower=False, adjoint=True)]
    y += [tf.linalg.cholesky(square), tf.math.lgamma(x + 2), tf.math.digamma(x + 2)]
    sparse = tf.SparseTensor([[0, 1], [1, 0], [1, 2]], x[0], [2, 3])
    y += [tf.sparse.sparse_dense_matmul(sparse, x, adjoint_b=True)]
    y += [tf.math.angle(tf.signal.fft(tf.complex(x, x)))]
    return [x, n], [tf.identity(v, f"y{k}") for k, v in enumerate(y)]


def cepstra():
    x = v1.placeholder(tf.float32, [2, 6], "x")
    y = [tf.signal.mfccs_from_log_mel_spectrograms(x), tf.signal.dct(x, 3, norm="ortho")]
    return [x], [tf.identity(v, f"y{k}") for k, v in enumerate(y)]


def saved_model():
    folder = here / "tensorflow" / "saved"
    m = Module()
    signatures = {"serving_default": m.serve, "product": m.product}
    tf.saved_model.save(m, str(folder), signatures=signatures)
    (folder / "fingerprint.pb").unlink()
    ids = np.array([4, 0, 2], "i4")
    y = m.serve(ids)
    store(folder, [ids], [y["n"].numpy(), y["y"].numpy()])
    shutil.rmtree(folder / "assets", ignore_errors=True)
    packed = here / "tensorflow" / "saved_packed"  # the same, its index compressed
    shutil.copytree(folder, packed)
    index = "variables/variables.index"
    pack = here.parent / "tensorflow" / "pack_index.py"
    subprocess.run([sys.executable, pack, folder / index, packed / index], check=True)


def phases():
    """One predicate that decides thrice, one after the other, as Keras' learning phase does."""
    x = v1.placeholder(tf.float32, [2, 3], "x")
    phase = v1.placeholder(tf.bool, [], "phase")
    y = v1.cond(phase, lambda: x * 2, lambda: x + 1)
    z = v1.cond(phase, lambda: tf.reduce_sum(y) * x, lambda: y - 1)
    return [x, phase], [v1.cond(phase, lambda: z + y, lambda: z * y)]


def resized():
    """Pictures of bytes are resized as numbers of f32."""
    x = v1.placeholder(tf.uint8, [1, 5, 4, 2], "x")
    y = v1.image.resize_bilinear(x, [7, 3])
    z = v1.image.resize_bilinear(tf.cast(x, tf.float64), [3, 6], half_pixel_centers=True)
    return [x], [y, tf.math.cumprod(z / 100, 2, exclusive=True, reverse=True)]


def cubic():
    """Weights from a table of 1024 steps; what lies outside weighs nothing, or like the edge."""
    x = v1.placeholder(tf.float32, [2, 5, 4, 3], "x")
    resize = tf.raw_ops.ResizeBicubic
    return [x], [
        resize(images=x, size=[9, 7], half_pixel_centers=True),
        resize(images=x, size=[3, 11]),
        resize(images=x, size=[8, 1], align_corners=True),
    ]


def saved_v1():
    """Variables and branches of version 1, one inside of another."""
    folder = here / "tensorflow" / "saved_v1"
    x0 = numbers(2, 4)
    with tf.Graph().as_default(), v1.Session() as session:
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [None, 4], "x")
        w = v1.get_variable("w", initializer=numbers(4, 3), use_resource=False)
        b = v1.get_variable("b", initializer=numbers(3), use_resource=True)
        y = tf.matmul(x, w) + b
        inner = lambda: v1.cond(tf.reduce_max(x) > 0.9, lambda: y * 3, lambda: y - 1)
        c = v1.cond(tf.reduce_sum(x) > -9, inner, lambda: tf.zeros_like(y) + b)
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(folder), {"x": x}, {"c": c})
        store(folder, [x0], [session.run(c, {x: x0})])


class Keeper(tf.Module):
    """Keeps what it has seen in variables: assigned whole, by rows, inside of calls."""

    def __init__(self):
        self.count = tf.Variable(3, name="count")
        self.rows = tf.Variable(np.zeros((4, 2), "f"), name="rows")
        self.weights = tf.Variable(numbers(2, 2), name="weights")

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
    def step(self, x):
        before = self.rows.read_value()
        y = tf.linalg.matvec(self.weights, x)
        self.rows.scatter_nd_update([[self.count % 4]], [y])
        between = tf.reduce_sum(self.rows)
        self.rows.assign(self.rows * 2.0)
        self.count.assign_add(1)
        self.add_rows(x)
        return {"before": before, "between": between, "after": self.rows + 0.0,
                "count": self.count + 0}

    @tf.function
    def add_rows(self, x):
        self.rows.scatter_add(tf.IndexedSlices(tf.stack([x, x]), tf.constant([1, 3])))
        self.count.assign_sub(3)
        self.count.assign_add(2)

    @tf.function(input_signature=[])
    def get(self):
        return {"rows": self.rows + 0.0, "count": self.count * 1}

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
    def plain(self, x):
        return {"y": tf.linalg.matvec(self.weights, x)}

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
    def sometimes(self, x):
        if tf.reduce_sum(x) > 0:
            self.count.assign_add(5)
        return {"y": x + tf.cast(self.count, tf.float32)}


def states():
    folder = here / "tensorflow" / "states"
    m = Keeper()
    signatures = {"serving_default": m.step, "get": m.get, "plain": m.plain,
                  "sometimes": m.sometimes}
    tf.saved_model.save(m, str(folder), signatures=signatures)
    (folder / "fingerprint.pb").unlink()
    shutil.rmtree(folder / "assets", ignore_errors=True)
    for run in range(3):
        x = numbers(2)
        answers = m.step(x)
        store(folder, [x], [answers[name].numpy() for name in sorted(answers)], run)


class Tables(tf.Module):
    """Numbers to words, and words to numbers, by tables that are filled when a model is loaded."""

    def __init__(self):
        fill = tf.lookup.KeyValueTensorInitializer
        numbers = tf.constant([3, 1, 2], tf.int64)
        words = tf.constant(["three", "one", "two"])
        self.words = tf.lookup.StaticHashTable(fill(numbers, words), "none")
        values = tf.constant([1.5, 2.5], tf.float32)
        self.values = tf.lookup.StaticHashTable(fill(tf.constant(["one", "none"]), values), -1)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64)])
    def find(self, x):
        return {"y": self.values.lookup(self.words.lookup(x)), "n": self.words.size() * 2}


def tables():
    folder = here / "tensorflow" / "tables"
    m = Tables()
    tf.saved_model.save(m, str(folder), signatures={"serving_default": m.find})
    (folder / "fingerprint.pb").unlink()
    shutil.rmtree(folder / "assets", ignore_errors=True)
    x = np.array([1, 9, 3, 2, -1], "i8")
    answers = m.find(x)
    store(folder, [x], [answers["n"].numpy(), answers["y"].numpy()])


shutil.rmtree(here / "tensorflow", ignore_errors=True)
graph("net", net, numbers(2, 8, 8, 3))
graph("control", control, numbers(3, 4))
graph("moves", moves, numbers(2, 6, 4))
graph("text", moves, numbers(2, 6, 4), text=True)
graph("words", words, np.array(["The cat!", "", "eat, eat the 9 Ärgernisse of 1 and a half 2"]))
graph("ragged", ragged, numbers(6), np.array([1, 0, 1, 2, 1, 0], "i4"))
graph("pictures", pictures, numbers(1, 5, 6, 3) ** 2)
graph("phases", phases, numbers(2, 3), np.array(True))
graph("resized", resized, (numbers(1, 5, 4, 2) * 127 + 128).astype("u1"))
graph("cubic", cubic, numbers(2, 5, 4, 3) * 9)
graph("diagonals", diagonals, numbers(2, 3, 4), numbers(2, 3, 3))
graph("patches", patches, numbers(1, 6, 5, 2), numbers(1, 3, 3, 2))
graph("functions", functions, numbers(3, 3), np.array([7, -4, 7, 5, -8, 0], "i4"))
graph("cepstra", cepstra, numbers(2, 6))
saved_model()
saved_v1()
states()
tables()
corpus.mkdir(parents=True, exist_ok=True)
for name in ("net/model.pb", "control/model.pb", "moves/model.pb", "text/model.pbtxt",
             "saved/saved_model.pb", "states/saved_model.pb", "tables/saved_model.pb"):
    shutil.copy(here / "tensorflow" / name, corpus / name.replace("/model", "").replace("/", "."))
