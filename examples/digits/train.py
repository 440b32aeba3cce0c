"""Trains the digits model and writes digits.onnx, images.npy and labels.npy into this folder.

A transformer of two layers reads an 8x8 image as a sequence of 16 patches of 2x2 pixels. Attention is
causal with a sliding window of 8 patches, 4 query heads that share 2 heads of keys and values, and one
learned sink logit per head. The data is scikit-learn's copy of the UCI handwritten digits; a quarter of the
images is held out and never trained on.

Needs numpy, scikit-learn, autograd and onnx; takes a few minutes on one core:  python train.py
"""
import autograd.numpy as np
import numpy
import onnx
from autograd import value_and_grad
from autograd.scipy.special import erf
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED, EPOCHS, BATCH, RATE, DECAY = 7, 80, 64, 3e-3, 0.05
LAYERS, WIDTH, HEADS, KV_HEADS, HEAD_DIM, HIDDEN = 2, 32, 4, 2, 8, 64
TOKENS, PATCH, WINDOW, CLASSES = 16, 4, 8, 10


# ---- the model, as autograd sees it ----

def new_weights(random):
    def matrix(rows, columns):
        return random.normal(0, rows ** -0.5, (rows, columns))

    w = {"embed.W": matrix(PATCH, WIDTH), "embed.position": random.normal(0, 0.1, (TOKENS, WIDTH)),
         "norm.scale": np.ones(WIDTH), "norm.bias": np.zeros(WIDTH),
         "head.W": matrix(WIDTH, CLASSES), "head.b": np.zeros(CLASSES)}
    for k in range(LAYERS):
        w |= {f"{k}.norm1.scale": np.ones(WIDTH), f"{k}.norm1.bias": np.zeros(WIDTH),
              f"{k}.q.W": matrix(WIDTH, HEADS * HEAD_DIM), f"{k}.k.W": matrix(WIDTH, KV_HEADS * HEAD_DIM),
              f"{k}.v.W": matrix(WIDTH, KV_HEADS * HEAD_DIM), f"{k}.sink": np.zeros(HEADS),
              f"{k}.out.W": matrix(HEADS * HEAD_DIM, WIDTH),
              f"{k}.norm2.scale": np.ones(WIDTH), f"{k}.norm2.bias": np.zeros(WIDTH),
              f"{k}.up.W": matrix(WIDTH, HIDDEN), f"{k}.up.b": np.zeros(HIDDEN),
              f"{k}.down.W": matrix(HIDDEN, WIDTH), f"{k}.down.b": np.zeros(WIDTH)}
    return w


def layer_norm(w, name, x):
    x = x - np.mean(x, -1, keepdims=True)
    x = x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-5)
    return x * w[name + ".scale"] + w[name + ".bias"]


def gelu(x):
    return x * (erf(x / 2 ** 0.5) + 1) * 0.5


position = np.arange(TOKENS)
distance = position[:, None] - position[None, :]
HIDDEN_KEYS = np.where((distance >= 0) & (distance < WINDOW), 0.0, -np.inf)


def attention(q, k, v, sink):
    """[N,T,H,D] with shared key heads; the sink adds e^sink to the denominator."""
    k, v = np.repeat(k, HEADS // KV_HEADS, 2), np.repeat(v, HEADS // KV_HEADS, 2)
    z = np.einsum("nqhd,nkhd->nhqk", q, k) * HEAD_DIM ** -0.5 + HIDDEN_KEYS
    s = np.reshape(sink, (1, HEADS, 1, 1))
    top = np.maximum(np.max(z, -1, keepdims=True), s)
    e = np.exp(z - top)
    return np.einsum("nhqk,nkhd->nqhd", e / (np.sum(e, -1, keepdims=True) + np.exp(s - top)), v)


def logits(w, images):
    n = len(images)
    x = np.reshape(images / 16, (n, 4, 2, 4, 2))
    x = np.reshape(np.transpose(x, (0, 1, 3, 2, 4)), (n, TOKENS, PATCH))
    x = np.dot(x, w["embed.W"]) + w["embed.position"]
    for k in range(LAYERS):
        y = layer_norm(w, f"{k}.norm1", x)
        q = np.reshape(np.dot(y, w[f"{k}.q.W"]), (n, TOKENS, HEADS, HEAD_DIM))
        key = np.reshape(np.dot(y, w[f"{k}.k.W"]), (n, TOKENS, KV_HEADS, HEAD_DIM))
        v = np.reshape(np.dot(y, w[f"{k}.v.W"]), (n, TOKENS, KV_HEADS, HEAD_DIM))
        y = np.reshape(attention(q, key, v, w[f"{k}.sink"]), (n, TOKENS, HEADS * HEAD_DIM))
        x = x + np.dot(y, w[f"{k}.out.W"])
        y = gelu(np.dot(layer_norm(w, f"{k}.norm2", x), w[f"{k}.up.W"]) + w[f"{k}.up.b"])
        x = x + np.dot(y, w[f"{k}.down.W"]) + w[f"{k}.down.b"]
    return np.dot(np.mean(layer_norm(w, "norm", x), 1), w["head.W"]) + w["head.b"]


def loss(w, images, labels):
    z = logits(w, images)
    z = z - np.max(z, -1, keepdims=True)
    log_p = z - np.log(np.sum(np.exp(z), -1, keepdims=True))
    return -np.mean(0.9 * log_p[np.arange(len(labels)), labels] + 0.1 * np.mean(log_p, -1))


# ---- training: Adam with decoupled weight decay, and images shifted by up to a pixel ----

def shifted(images, random):
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    place = random.integers(0, 3, (len(images), 2))
    return np.stack([p[y:y + 8, x:x + 8] for p, (y, x) in zip(padded, place)])


def train(images, labels, random):
    w = new_weights(random)
    mean, square = ({k: np.zeros_like(v) for k, v in w.items()} for _ in range(2))
    step, steps = 0, EPOCHS * (len(images) // BATCH)
    gradient = value_and_grad(loss)
    for epoch in range(EPOCHS):
        order, total = random.permutation(len(images)), 0.0
        for at in range(0, len(order) - BATCH + 1, BATCH):
            batch, step = order[at:at + BATCH], step + 1
            value, g = gradient(w, shifted(images[batch], random), labels[batch])
            total += value
            rate = RATE * min(1, step / 100) * 0.5 * (1 + np.cos(np.pi * step / steps))
            for k in w:
                mean[k] = 0.9 * mean[k] + 0.1 * g[k]
                square[k] = 0.99 * square[k] + 0.01 * g[k] ** 2
                update = mean[k] / (1 - 0.9 ** step) / (np.sqrt(square[k] / (1 - 0.99 ** step)) + 1e-8)
                w[k] = w[k] - rate * (update + (DECAY * w[k] if k.endswith("W") else 0))
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {total / (len(images) // BATCH):.4f}", flush=True)
    return w


# ---- the ONNX file ----

class Writer:
    """Nodes and constants in order; every method answers the name of its output."""

    def __init__(self, weights):
        self.nodes, self.constants = [], []
        for name, value in weights.items():
            self.constant(name, value.astype(np.float32))

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.array(value), name))
        return name

    def node(self, op, inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def reshape(self, x, shape, name):
        return self.node("Reshape", [x, self.constant(name + ".shape", np.array(shape, np.int64))], name)

    def norm(self, x, name):
        return self.node("LayerNormalization", [x, name + ".scale", name + ".bias"], name, axis=-1, epsilon=1e-5)

    def linear(self, x, name, bias=False):
        y = self.node("MatMul", [x, name + ".W"], name + ".product" if bias else name)
        return self.node("Add", [y, name + ".b"], name) if bias else y

    def gelu(self, x, name):
        y = self.node("Erf", [self.node("Mul", [x, "gelu.scale"], name + ".scaled")], name + ".erf")
        y = self.node("Mul", [x, self.node("Add", [y, "gelu.one"], name + ".sum")], name + ".twice")
        return self.node("Mul", [y, "gelu.half"], name)

    def layer(self, x, k):
        y = self.norm(x, f"{k}.norm1")
        q = self.reshape(self.linear(y, f"{k}.q"), [0, TOKENS, HEADS, HEAD_DIM], f"{k}.q.heads")
        key = self.reshape(self.linear(y, f"{k}.k"), [0, TOKENS, KV_HEADS, HEAD_DIM], f"{k}.k.heads")
        v = self.reshape(self.linear(y, f"{k}.v"), [0, TOKENS, KV_HEADS, HEAD_DIM], f"{k}.v.heads")
        y = self.node("flash_attention_2_swa_sink", [q, key, v, f"{k}.sink"], f"{k}.attention",
                      domain="tenon.examples", causal=1, window=WINDOW)
        y = self.linear(self.reshape(y, [0, TOKENS, HEADS * HEAD_DIM], f"{k}.attention.joined"), f"{k}.out")
        x = self.node("Add", [x, y], f"{k}.residual1")
        y = self.gelu(self.linear(self.norm(x, f"{k}.norm2"), f"{k}.up", bias=True), f"{k}.gelu")
        return self.node("Add", [x, self.linear(y, f"{k}.down", bias=True)], f"{k}.residual2")


def write_model(w, path):
    g = Writer(w)
    for name, value in {"scale": 2 ** -0.5, "one": 1, "half": 0.5}.items():
        g.constant("gelu." + name, np.array(value, np.float32))
    x = g.node("Div", ["image", g.constant("white", np.array(16, np.float32))], "pixels")
    x = g.reshape(x, [0, 4, 2, 4, 2], "patches.split")
    x = g.reshape(g.node("Transpose", [x], "patches.order", perm=[0, 1, 3, 2, 4]), [0, TOKENS, PATCH], "patches")
    x = g.node("Add", [g.linear(x, "embed"), "embed.position"], "tokens")
    for k in range(LAYERS):
        x = g.layer(x, k)
    x = g.node("ReduceMean", [g.norm(x, "norm")], "mean", axes=[1], keepdims=0)
    g.node("Softmax", [g.linear(x, "head", bias=True)], "probabilities", axis=-1)
    graph = helper.make_graph(
        g.nodes, "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", CLASSES])], g.constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("tenon.examples", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="train.py"), path)


def main():
    digits = load_digits()
    images, held_images, labels, held_labels = train_test_split(
        digits.images, digits.target, test_size=0.25, random_state=SEED, stratify=digits.target)
    w = train(images, labels, numpy.random.default_rng(SEED))
    write_model(w, "digits.onnx")
    numpy.save("images.npy", held_images.astype(np.float32))
    numpy.save("labels.npy", held_labels.astype(np.int64))
    right = np.argmax(logits(w, held_images), -1) == held_labels
    print(f"held-out accuracy: {right.sum()} of {len(right)} = {100 * right.mean():.2f} %")


if __name__ == "__main__":
    main()
