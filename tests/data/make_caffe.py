#!/usr/bin/env python3
"""Makes tests/data/caffe/net: a small network of many layers with weights, and what OpenCV answers;
tests/data/caffe/layers: layers without weights, and what their formulas say; and FILE, a
network in bytes alone.

usage: make_caffe.py FOLDER FILE (needs numpy and, before version 5, opencv-python)
"""
import os
import sys

import numpy as np

NET = '''# every layer here has a meaning that is easily got wrong
name: "net"
input: "data"
input_shape { dim: [1, 3, 9, 10] }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 4 kernel_size: 3 stride: 2 pad_h: 1 pad_w: 0
                      weight_filler { type: "xavier" } } }
layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "conv" param { lr_mult: 0 } }
layer { name: "scale" type: "Scale" bottom: "conv" top: "conv" scale_param { bias_term: true } }
layer < name: 'relu' type: "Re" "LU" bottom: "conv" top: "conv"
        relu_param: { negative_slope: .25f } >
layer { name: "max" type: "Pooling" bottom: "conv" top: "max"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "ave" type: "Pooling" bottom: "data" top: "ave"
  pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 } }
layer { name: "lrn" type: "LRN" bottom: "max" top: "lrn"
  lrn_param { local_size: 3 alpha: 0.5 } }
layer { name: "slice" type: "Slice" bottom: "lrn" top: "a" top: "b" slice_param { axis: 1 } }
layer { name: "sum" type: "Eltwise" bottom: "a" bottom: "b" top: "sum"
  eltwise_param { operation: SUM coeff: 1 coeff: -2 } }
layer { name: "cat" type: "Concat" bottom: "sum" bottom: "a" top: "cat" }
layer { name: "drop" type: "Dropout" bottom: "cat" top: "cat" }
layer { name: "up" type: "Deconvolution" bottom: "ave" top: "up"
  convolution_param { num_output: 3 group: 3 kernel_size: 4 stride: 2 pad: 1 bias_term: false } }
layer { name: "perm" type: "Permute" bottom: "up" top: "perm"
  permute_param { order: 0 order: 2 order: 3 order: 1 } }
layer { name: "flat" type: "Flatten" bottom: "perm" top: "flat" }
layer { name: "power" type: "Power" bottom: "sum" top: "power"
  power_param { power: 2 scale: 0.5 shift: 1 } }
layer { name: "ip" type: "InnerProduct" bottom: "cat" top: "ip"
  inner_product_param { num_output: 5 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss"
  include { phase: TRAIN } }
layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" }
'''


def varint(n):
    out = b''
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def blob(a, old):
    a = np.asarray(a, np.float32)
    if old:
        dims = [1] * (4 - a.ndim) + list(a.shape)
        shape = b''.join(varint(k << 3) + varint(d) for k, d in zip((1, 2, 3, 4), dims))
    else:
        shape = field(7, field(1, b''.join(map(varint, a.shape))))
    return field(7, shape + field(5, a.tobytes()))


def layer(name, kind, *blobs, old=False):
    return field(100, field(1, name.encode()) + field(2, kind.encode()) +
                 b''.join(blob(b, old) for b in blobs))


def whole_net(r):
    """Weights and layers in one file."""
    dims = field(8, field(1, bytes([1, 2, 4, 4])))
    conv = field(100, field(1, b'c') + field(2, b'Convolution') + field(3, b'x') + field(4, b'y') +
                 blob(r(2, 2, 2, 2), False) + field(106, bytes([8, 2, 32, 2])))
    pool = field(100, field(1, b'p') + field(2, b'Pooling') + field(3, b'y') + field(4, b'y') +
                 field(121, bytes([8, 1, 16, 2, 24, 2])))
    ip = field(100, field(1, b'i') + field(2, b'InnerProduct') + field(3, b'y') + field(4, b'z') +
               blob(r(3, 8), True) + blob(r(3), True) + field(117, bytes([8, 3])))
    return field(1, b'whole') + field(3, b'x') + dims + conv + pool + ip


def layers(folder, rng):
    """Layers without weights, each as an output, with what their formulas say in NumPy."""
    x, e = rng.uniform(.1, 1, (2, 4, 3, 5)).astype('f'), np.exp

    def mvn(ax):
        m = x - x.mean(ax, keepdims=True)
        return m / (np.sqrt((m * m).mean(ax, keepdims=True)) + 1e-9)

    def lrn(n, a, b):
        p = (n - 1) // 2
        s = np.pad(x * x, ((0, 0), (0, 0), (p, p), (p, p)))
        m = sum(s[:, :, i:i + 3, j:j + 5] for i in range(n) for j in range(n)) / n / n
        return x / (1 + a * m)**b

    def lrnc(n, a, b, k):
        p = (n - 1) // 2
        s = np.pad(x * x, ((0, 0), (p, p), (0, 0), (0, 0)))
        return x / (k + a * sum(s[:, i:i + 4] for i in range(n)) / n)**b

    cases = [
        ('type: "Exp" exp_param{base:2 scale:3 shift:.5}',
         2**(.5+3*x)),
        ('type: "Exp"',
         e(x)),
        ('type: "Log" log_param{base:10 scale:2 shift:1}',
         np.log10(1+2*x)),
        ('type: "Power" power_param{power:3 scale:-1 shift:2}',
         (2-x)**3),
        ('type: "Threshold" threshold_param{threshold:.5}',
         (x>.5)*1.),
        ('type: "ELU" elu_param{alpha:.5}',
         x),
        ('type: "TanH"',
         np.tanh(x)),
        ('type: "BNLL"',
         np.log1p(e(x))),
        ('type: "AbsVal"',
         x),
        ('type: "MVN"',
         mvn((2,3))),
        ('type: "MVN" mvn_param{across_channels:true}',
         mvn((1,2,3))),
        ('type: "Reduction" reduction_param{axis:1 operation:SUMSQ coeff:2}',
         2*(x*x).sum((1,2,3))),
        ('type: "Reduction" reduction_param{axis:-1 operation:MEAN}',
         x.mean(3)),
        ('type: "Reduction"',
         x.sum()),
        ('type: "Tile" tile_param{axis:2 tiles:3}',
         np.tile(x,(1,1,3,1))),
        ('type: "Flatten" flatten_param{axis:1 end_axis:-2}',
         x.reshape(2,12,5)),
        ('type: "Reshape" reshape_param{shape{dim:0 dim:-1}}',
         x.reshape(2,-1)),
        ('type: "Reshape" reshape_param{shape{dim:2 dim:2} axis:1 num_axes:1}',
         x.reshape(2,2,2,3,5)),
        ('type: "Reshape" reshape_param{shape{dim:1} axis:-1}',
         x[...,None]),
        ('type: "ArgMax" argmax_param{axis:1}',
         x.argmax(1)[:,None]),
        ('type: "ArgMax" argmax_param{axis:1 out_max_val:true}',
         x.max(1,keepdims=True)),
        ('type: "Softmax" softmax_param{axis:-1}',
         e(x)/e(x).sum(3,keepdims=True)),
        ('type: "LRN" lrn_param{local_size:3 alpha:2 norm_region:WITHIN_CHANNEL}',
         lrn(3,2,.75)),
        ('type: "LRN" lrn_param{local_size:3 alpha:2 beta:.5 k:2}',
         lrnc(3,2,.5,2)),
        ('type: "Concat" bottom:"x" concat_param{axis:0}',
         np.concatenate([x,x])),
        ('type: "Eltwise" bottom:"x" bottom:"x" eltwise_param{operation:PROD}',
         x**3),
        ('type: "Scale" bottom:"x" scale_param{axis:0}',
         x*x),
        ('type: "Bias" bottom:"x" bias_param{axis:0}',
         x+x),
        ('type: "Pooling" pooling_param{pool:AVE global_pooling:true}',
         x.mean((2,3),keepdims=True)),
        ('type: "Permute" permute_param{order:1}',
         x.transpose(1,0,2,3)),
        ('type: "ReLU6"',
         np.clip(x,0,6)),
        ('type: "ShuffleChannel" shuffle_channel_param{group:2}',
         x.reshape(2,2,2,3,5).swapaxes(1,2).reshape(x.shape)),
        ('type: "Upsample" upsample_param{scale:2}',
         x.repeat(2,2).repeat(2,3)),
    ]
    ref = os.path.join(folder, 'ref')
    os.makedirs(ref, exist_ok=True)
    np.save(os.path.join(ref, 'set0_in0.npy'), x)
    with open(os.path.join(folder, 'model.prototxt'), 'w') as f:
        f.write('input: "x" input_dim: [2, 4, 3, 5]\n')
        for k, (text, y) in enumerate(cases):
            f.write(f'layer {{ name: "y{k:02}" bottom: "x" top: "y{k:02}"\n  {text} }}\n')
            np.save(os.path.join(ref, f'set0_out{k}.npy'), np.asarray(y, np.float32))


def main(folder, file):
    rng = np.random.default_rng(1)

    def r(*shape):
        return rng.uniform(-1, 1, shape)

    net = field(1, b'net') + layer('conv', 'Convolution', r(4, 3, 3, 3), r(4))
    net += layer('norm', 'BatchNorm', r(4), r(4) + 2, [2])
    net += layer('scale', 'Scale', r(4), r(4))
    net += layer('up', 'Deconvolution', r(3, 1, 4, 4))
    net += layer('ip', 'InnerProduct', r(5, 4 * 3 * 2), r(5), old=True)
    os.makedirs(os.path.join(folder, 'ref'), exist_ok=True)
    text, weights = (os.path.join(folder, 'model.' + e) for e in ('prototxt', 'caffemodel'))
    with open(text, 'w') as f:
        f.write(NET)
    with open(weights, 'wb') as f:
        f.write(net)
    layers(os.path.join(os.path.dirname(folder), 'layers'), rng)
    with open(file, 'wb') as f:
        f.write(whole_net(r))
    import cv2
    loss = NET[NET.index('layer { name: "loss"'):NET.index('layer { name: "prob"')]
    plain = os.path.join(folder, 'plain.prototxt')  # OpenCV knows no phases
    with open(plain, 'w') as f:
        f.write(NET.replace('dim: [1, 3, 9, 10]', 'dim: 1 dim: 3 dim: 9 dim: 10')
                .replace(loss, ''))
    cv = cv2.dnn.readNetFromCaffe(plain, weights)
    os.remove(plain)
    x = r(1, 3, 9, 10).astype(np.float32)
    np.save(os.path.join(folder, 'ref', 'set0_in0.npy'), x)
    cv.setInput(x)
    for k, y in enumerate(cv.forward(['flat', 'power', 'prob'])):
        np.save(os.path.join(folder, 'ref', f'set0_out{k}.npy'), y)


main(sys.argv[1], sys.argv[2])
