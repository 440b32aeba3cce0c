"""Transformers and recurrent nets, as exporters write them."""
import numpy as np

from net import Net


def attention(net, x, length, n_heads, width, mask=None):
    """Self-attention of separate projections; PyTorch's exporters write these nodes."""
    n = n_heads * width
    q = net.heads(net.dense(x, n, n), 1, length, n_heads, width, [0, 2, 1, 3])
    k = net.heads(net.dense(x, n, n), 1, length, n_heads, width, [0, 2, 3, 1])
    v = net.heads(net.dense(x, n, n), 1, length, n_heads, width, [0, 2, 1, 3])
    s = net.op("Div", net.op("MatMul", q, k), net.scalar(np.sqrt(width)))
    if mask:
        s = net.op("Add", s, mask)
    y = net.op("MatMul", net.op("Softmax", s, axis=-1), v)
    y = net.op("Reshape", net.op("Transpose", y, perm=[0, 2, 1, 3]), net.ints(1, length, n))
    return net.dense(y, n, n)


def bert_base_128():
    """Devlin et al. 2019, in the primitive operators of exporters for operator set 14."""
    net, length, n = Net("bert_base_128", opset=14), 128, 768
    ids = net.input("input_ids", [1, length], np.int64)
    kinds = net.input("token_type_ids", [1, length], np.int64)
    seen = net.input("attention_mask", [1, length], np.int64)
    mask = net.op("Cast", net.op("Unsqueeze", seen, net.ints(1, 2)), to=1)
    mask = net.op("Mul", net.op("Sub", net.scalar(1.0), mask), net.scalar(-10000.0))
    x = net.op("Gather", net.weight(30522, n, gain=1.0), ids)
    x = net.op("Add", x, net.op("Gather", net.weight(2, n, gain=1.0), kinds))
    x = net.layer_norm(net.op("Add", x, net.weight(1, length, n, fan_in=n, gain=1.0)), n, True, 1e-12)
    for _ in range(12):
        x = net.layer_norm(net.op("Add", x, attention(net, x, length, 12, 64, mask)), n, True, 1e-12)
        y = net.dense(net.gelu(net.dense(x, n, 4 * n)), 4 * n, n)
        x = net.layer_norm(net.op("Add", x, y), n, True, 1e-12)
    net.output(x, "y", [1, length, n])
    return net.model()


def vit_small():
    """Dosovitskiy et al. 2021; patches of 16, 384 wide, 6 heads, 12 layers."""
    net, length, n = Net("vit_small"), 197, 384
    x = net.conv(net.input("x", [1, 3, 224, 224]), 3, n, 16, stride=16, pad=0, gain=1.0)
    x = net.op("Transpose", net.op("Reshape", x, net.ints(1, n, 196)), perm=[0, 2, 1])
    x = net.op("Concat", net.weight(1, 1, n, fan_in=n), x, axis=1)
    x = net.op("Add", x, net.weight(1, length, n, fan_in=n))
    for _ in range(12):
        x = net.op("Add", x, attention(net, net.layer_norm(x, n), length, 6, 64))
        y = net.dense(net.layer_norm(x, n), n, 4 * n)
        x = net.op("Add", x, net.dense(net.gelu(y), 4 * n, n))
    x = net.op("Gather", net.layer_norm(x, n), net.const(np.array(0, np.int64)), axis=1)
    net.output(net.linear(x, n, 1000, gain=1.0), "y", [1, 1000])
    return net.model()


def gpt2(name, new, past):
    """Radford et al. 2019, 124M: `new` tokens after `past` cached ones; keys and values come and go."""
    net, n, heads, width = Net(name, opset=14), 768, 12, 64
    length = past + new
    ids = net.input("input_ids", [1, new], np.int64)
    words = net.weight(50257, n, gain=1.0)
    x = net.op("Add", net.op("Gather", words, ids), net.weight(1, new, n, fan_in=n, gain=1.0))
    blocked = np.triu(np.full((new, length), -1e4, np.float32), past + 1)
    mask = net.const(blocked.reshape(1, 1, new, length))
    for layer in range(12):
        y = net.layer_norm(x, n, True)
        qkv = net.dense(y, n, 3 * n)
        q, k, v = net.op("Split", qkv, net.ints(n, n, n), outputs=3, axis=2)
        q, k, v = (net.heads(t, 1, new, heads, width, [0, 2, 1, 3]) for t in (q, k, v))
        if past:
            k = net.op("Concat", net.input(f"past_k_{layer}", [1, heads, past, width]), k, axis=2)
            v = net.op("Concat", net.input(f"past_v_{layer}", [1, heads, past, width]), v, axis=2)
        net.output(k, f"k_{layer}", [1, heads, length, width])
        net.output(v, f"v_{layer}", [1, heads, length, width])
        s = net.op("MatMul", q, net.op("Transpose", k, perm=[0, 1, 3, 2]))
        s = net.op("Add", net.op("Div", s, net.scalar(8.0)), mask)
        y = net.op("MatMul", net.op("Softmax", s, axis=-1), v)
        y = net.op("Reshape", net.op("Transpose", y, perm=[0, 2, 1, 3]), net.ints(1, new, n))
        x = net.op("Add", x, net.dense(y, n, n))
        y = net.gelu_tanh(net.dense(net.layer_norm(x, n, True), n, 4 * n))
        x = net.op("Add", x, net.dense(y, 4 * n, n))
    x = net.layer_norm(x, n, True)
    net.output(net.op("MatMul", x, net.op("Transpose", words, perm=[1, 0])), "logits", [1, new, 50257])
    return net.model()


def gpt2_prefill_128():
    return gpt2("gpt2_prefill_128", 128, 0)


def gpt2_decode():
    return gpt2("gpt2_decode", 1, 128)


def lstm(net, x, n_in, n):
    w = net.weight(1, 4 * n, n_in, fan_in=n_in, gain=1.0)
    r = net.weight(1, 4 * n, n, fan_in=n, gain=1.0)
    b = net.const(np.zeros((1, 8 * n), np.float32))
    y = net.op("LSTM", x, w, r, b, hidden_size=n, outputs=1)
    return net.op("Squeeze", y, net.ints(1))


def lstm_lm():
    """A language model of two LSTM layers, 650 wide (Zaremba et al. 2014, medium), 35 steps."""
    net, steps, n, words = Net("lstm_lm"), 35, 650, 10000
    ids = net.input("input_ids", [steps, 1], np.int64)
    x = net.op("Gather", net.weight(words, n, gain=1.0), ids)
    for _ in range(2):
        x = lstm(net, x, n, n)
    net.output(net.dense(x, n, words), "logits", [steps, 1, words])
    return net.model()


def keyword_spotter():
    """DS-CNN small (Zhang et al. 2017): 49 frames of 10 coefficients; here the overhead per operator shows."""
    net, n = Net("keyword_spotter"), 64
    x = net.conv(net.input("x", [1, 1, 49, 10]), 1, n, (10, 4), stride=2, pad=(4, 1), act="relu")
    for _ in range(4):
        x = net.conv(x, n, n, 3, group=n, act="relu")
        x = net.conv(x, n, n, 1, act="relu")
    x = net.classifier(x, n, 12)
    net.output(net.op("Softmax", x, axis=1), "y", [1, 12])
    return net.model()
