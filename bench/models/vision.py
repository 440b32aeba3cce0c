"""Convolutional nets, from their papers. Inputs are [1, 3, H, W]."""
import numpy as np

from net import Net


def resnet(name, blocks, bottleneck):
    """He et al. 2016; strides stand in the 3x3 of a bottleneck, as in torchvision."""
    net = Net(name)
    x = net.conv(net.input("x", [1, 3, 224, 224]), 3, 64, 7, stride=2, act="relu")
    x, n_in = net.max_pool(x, 3, 2, 1), 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        n_out = width * (4 if bottleneck else 1)
        for k in range(count):
            stride = 2 if stage and not k else 1
            skip = x
            if n_in != n_out or stride > 1:
                skip = net.conv(x, n_in, n_out, 1, stride=stride, gain=1.0)
            if bottleneck:
                y = net.conv(x, n_in, width, 1, act="relu")
                y = net.conv(y, width, width, 3, stride=stride, act="relu")
                y = net.conv(y, width, n_out, 1, gain=0.5)
            else:
                y = net.conv(x, n_in, width, 3, stride=stride, act="relu")
                y = net.conv(y, width, n_out, 3, gain=0.5)
            x, n_in = net.act(net.op("Add", y, skip), "relu"), n_out
    net.output(net.classifier(x, n_in), "y", [1, 1000])
    return net.model()


def resnet18():
    return resnet("resnet18", [2, 2, 2, 2], False)


def resnet50():
    return resnet("resnet50", [3, 4, 6, 3], True)


def vgg16():
    """Simonyan, Zisserman 2015."""
    net = Net("vgg16")
    x, n_in = net.input("x", [1, 3, 224, 224]), 3
    for width, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            x, n_in = net.conv(x, n_in, width, 3, act="relu"), width
        x = net.max_pool(x, 2, 2)
    x = net.op("Flatten", x, axis=1)
    x = net.linear(x, 512 * 49, 4096, "relu")
    x = net.linear(x, 4096, 4096, "relu")
    net.output(net.linear(x, 4096, 1000, gain=1.0), "y", [1, 1000])
    return net.model()


def mobilenet_v1():
    """Howard et al. 2017; batch normalisation left in the graph, as TensorFlow's converters do."""
    net = Net("mobilenet_v1")

    def unit(x, n_in, n_out, k, stride, group):
        return net.act(net.batch_norm(net.conv(x, n_in, n_out, k, stride, group=group), n_out), "relu6")

    x = unit(net.input("x", [1, 3, 224, 224]), 3, 32, 3, 2, 1)
    n_in = 32
    for n_out, stride in [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [
            (1024, 2), (1024, 1)]:
        x = unit(x, n_in, n_in, 3, stride, n_in)
        x, n_in = unit(x, n_in, n_out, 1, 1, 1), n_out
    net.output(net.classifier(x, n_in), "y", [1, 1000])
    return net.model()


def inverted_residual(net, x, n_in, n_out, expand, k, stride, act, squeeze=None):
    mid, y = n_in * expand if isinstance(expand, int) else int(expand[0]), x
    if mid != n_in:
        y = net.conv(y, n_in, mid, 1, act=act)
    y = net.conv(y, mid, mid, k, stride=stride, group=mid, act=act)
    if squeeze:
        y = net.squeeze_excite(y, mid, squeeze)
    y = net.conv(y, mid, n_out, 1, gain=1.0)
    return net.op("Add", x, y) if stride == 1 and n_in == n_out else y


def mobilenet_v2():
    """Sandler et al. 2018."""
    net = Net("mobilenet_v2")
    x, n_in = net.conv(net.input("x", [1, 3, 224, 224]), 3, 32, 3, 2, act="relu6"), 32
    for expand, n_out, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                         (6, 160, 3, 2), (6, 320, 1, 1)):
        for k in range(count):
            x = inverted_residual(net, x, n_in, n_out, expand, 3, stride if not k else 1, "relu6")
            n_in = n_out
    x = net.conv(x, 320, 1280, 1, act="relu6")
    net.output(net.classifier(x, 1280), "y", [1, 1000])
    return net.model()


def mobilenet_v3_small():
    """Howard et al. 2019."""
    net = Net("mobilenet_v3_small")
    x, n_in = net.conv(net.input("x", [1, 3, 224, 224]), 3, 16, 3, 2, act="hswish"), 16
    rows = ((3, 16, 16, 8, "relu", 2), (3, 72, 24, None, "relu", 2), (3, 88, 24, None, "relu", 1),
            (5, 96, 40, 24, "hswish", 2), (5, 240, 40, 64, "hswish", 1), (5, 240, 40, 64, "hswish", 1),
            (5, 120, 48, 32, "hswish", 1), (5, 144, 48, 40, "hswish", 1), (5, 288, 96, 72, "hswish", 2),
            (5, 576, 96, 144, "hswish", 1), (5, 576, 96, 144, "hswish", 1))
    for k, mid, n_out, squeeze, act, stride in rows:
        x, n_in = inverted_residual(net, x, n_in, n_out, (mid,), k, stride, act, squeeze), n_out
    x = net.conv(x, 96, 576, 1, act="hswish")
    x = net.op("Flatten", net.op("GlobalAveragePool", x), axis=1)
    x = net.linear(x, 576, 1024, "hswish")
    net.output(net.linear(x, 1024, 1000, gain=1.0), "y", [1, 1000])
    return net.model()


def efficientnet_lite0():
    """Tan, Le 2019, in the form without squeeze and excite."""
    net = Net("efficientnet_lite0")
    x, n_in = net.conv(net.input("x", [1, 3, 224, 224]), 3, 32, 3, 2, act="relu6"), 32
    for expand, n_out, count, k, stride in ((1, 16, 1, 3, 1), (6, 24, 2, 3, 2), (6, 40, 2, 5, 2), (6, 80, 3, 3, 2),
                                            (6, 112, 3, 5, 1), (6, 192, 4, 5, 2), (6, 320, 1, 3, 1)):
        for i in range(count):
            x = inverted_residual(net, x, n_in, n_out, expand, k, stride if not i else 1, "relu6")
            n_in = n_out
    x = net.conv(x, 320, 1280, 1, act="relu6")
    net.output(net.classifier(x, 1280), "y", [1, 1000])
    return net.model()


def squeezenet_1_1():
    """Iandola et al. 2016."""
    net = Net("squeezenet_1_1")
    x = net.conv(net.input("x", [1, 3, 224, 224]), 3, 64, 3, 2, pad=0, act="relu")
    x, n_in = net.max_pool(x, 3, 2, ceil=1), 64
    for row in ((16, 64), (16, 64), None, (32, 128), (32, 128), None, (48, 192), (48, 192), (64, 256), (64, 256)):
        if row is None:
            x = net.max_pool(x, 3, 2, ceil=1)
            continue
        squeeze, expand = row
        s = net.conv(x, n_in, squeeze, 1, act="relu")
        x = net.op("Concat", net.conv(s, squeeze, expand, 1, act="relu"),
                   net.conv(s, squeeze, expand, 3, act="relu"), axis=1)
        n_in = 2 * expand
    x = net.conv(x, 512, 1000, 1, act="relu")
    net.output(net.op("Flatten", net.op("GlobalAveragePool", x), axis=1), "y", [1, 1000])
    return net.model()


def shufflenet_v2():
    """Ma et al. 2018, 1.0x."""
    net = Net("shufflenet_v2")
    x = net.conv(net.input("x", [1, 3, 224, 224]), 3, 24, 3, 2, act="relu")
    x, n_in, size = net.max_pool(x, 3, 2, 1), 24, 28
    for n_out, count in ((116, 4), (232, 8), (464, 4)):
        half = n_out // 2
        for k in range(count):
            if not k:
                left = net.conv(x, n_in, n_in, 3, 2, group=n_in)
                left, right, n_right = net.conv(left, n_in, half, 1, act="relu"), x, n_in
            else:
                left, right = net.op("Split", x, net.ints(half, half), outputs=2, axis=1)
                n_right = half
            right = net.conv(right, n_right, half, 1, act="relu")
            right = net.conv(right, half, half, 3, 1 if k else 2, group=half)
            right = net.conv(right, half, half, 1, act="relu")
            x = net.op("Concat", left, right, axis=1)
            x = net.op("Reshape", x, net.ints(1, 2, half, size, size))
            x = net.op("Transpose", x, perm=[0, 2, 1, 3, 4])
            x = net.op("Reshape", x, net.ints(1, n_out, size, size))
        n_in, size = n_out, size // 2
    x = net.conv(x, 464, 1024, 1, act="relu")
    net.output(net.classifier(x, 1024), "y", [1, 1000])
    return net.model()


def densenet121():
    """Huang et al. 2017: batch normalisation before the convolution, where it cannot be folded."""
    net = Net("densenet121")
    x = net.conv(net.input("x", [1, 3, 224, 224]), 3, 64, 7, 2, act="relu")
    x, n = net.max_pool(x, 3, 2, 1), 64
    for stage, count in enumerate((6, 12, 24, 16)):
        parts = [x]
        for _ in range(count):
            y = net.op("Concat", *parts, axis=1) if len(parts) > 1 else x
            y = net.act(net.batch_norm(y, n), "relu")
            y = net.conv(y, n, 128, 1, act="relu")
            parts.append(net.conv(y, 128, 32, 3, gain=0.5))
            n += 32
        x = net.act(net.batch_norm(net.op("Concat", *parts, axis=1), n), "relu")
        if stage < 3:
            x, n = net.avg_pool(net.conv(x, n, n // 2, 1, gain=1.0), 2, 2), n // 2
    net.output(net.classifier(x, n), "y", [1, 1000])
    return net.model()


def inception_v3():
    """Szegedy et al. 2016, without the auxiliary head, at 299."""
    net = Net("inception_v3")

    def c(x, n_in, n_out, k, stride=1, pad=None):
        return net.conv(x, n_in, n_out, k, stride, pad, act="relu")

    def cat(*parts):
        return net.op("Concat", *parts, axis=1)

    x = c(net.input("x", [1, 3, 299, 299]), 3, 32, 3, 2, 0)
    x = c(c(x, 32, 32, 3, pad=0), 32, 64, 3)
    x = net.max_pool(x, 3, 2)
    x = c(c(x, 64, 80, 1), 80, 192, 3, pad=0)
    x, n = net.max_pool(x, 3, 2), 192
    for pool in (32, 64, 64):
        x = cat(c(x, n, 64, 1), c(c(x, n, 48, 1), 48, 64, 5), c(c(c(x, n, 64, 1), 64, 96, 3), 96, 96, 3),
                c(net.avg_pool(x, 3, 1, 1), n, pool, 1))
        n = 224 + pool
    x, n = cat(c(x, n, 384, 3, 2, 0), c(c(c(x, n, 64, 1), 64, 96, 3), 96, 96, 3, 2, 0), net.max_pool(x, 3, 2)), 768
    for m in (128, 160, 160, 192):
        a = c(c(c(x, n, m, 1), m, m, (1, 7)), m, 192, (7, 1))
        b = c(x, n, m, 1)
        for k in ((7, 1), (1, 7), (7, 1)):
            b = c(b, m, m, k)
        x = cat(c(x, n, 192, 1), a, c(b, m, 192, (1, 7)), c(net.avg_pool(x, 3, 1, 1), n, 192, 1))
    a = c(c(c(x, n, 192, 1), 192, 192, (1, 7)), 192, 192, (7, 1))
    x, n = cat(c(c(x, n, 192, 1), 192, 320, 3, 2, 0), c(a, 192, 192, 3, 2, 0), net.max_pool(x, 3, 2)), 1280
    for _ in range(2):
        a = c(x, n, 384, 1)
        b = c(c(x, n, 448, 1), 448, 384, 3)
        x = cat(c(x, n, 320, 1), cat(c(a, 384, 384, (1, 3)), c(a, 384, 384, (3, 1))),
                cat(c(b, 384, 384, (1, 3)), c(b, 384, 384, (3, 1))), c(net.avg_pool(x, 3, 1, 1), n, 192, 1))
        n = 2048
    net.output(net.classifier(x, n), "y", [1, 1000])
    return net.model()


def yolo_416():
    """A one-stage detector in the manner of YOLOv3-tiny (Redmon, Farhadi 2018): a backbone, and boxes
    at two scales, decoded in the graph."""
    net = Net("yolo_416")
    x, n_in, route = net.input("x", [1, 3, 416, 416]), 3, None
    for n_out in (16, 32, 64, 128, 256):
        x, n_in = net.conv(x, n_in, n_out, 3, act="leaky"), n_out
        if n_out == 256:
            route = x
        x = net.max_pool(x, 2, 2)
    x = net.conv(x, 256, 512, 3, act="leaky")
    x = net.conv(net.conv(x, 512, 1024, 3, act="leaky"), 1024, 256, 1, act="leaky")
    coarse = net.conv(net.conv(x, 256, 512, 3, act="leaky"), 512, 255, 1, gain=1.0)
    y = net.conv(x, 256, 128, 1, act="leaky")
    y = net.op("Resize", y, "", net.const(np.array([1, 1, 2, 2], np.float32)), mode="nearest",
               coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    y = net.conv(net.op("Concat", y, route, axis=1), 384, 256, 3, act="leaky")
    fine = net.conv(y, 256, 255, 1, gain=1.0)
    rows = []
    for head, size, stride in ((coarse, 13, 32.0), (fine, 26, 16.0)):
        h = net.op("Reshape", head, net.ints(1, 3, 85, size * size))
        h = net.op("Transpose", h, perm=[0, 1, 3, 2])
        xy, wh, rest = net.op("Split", h, net.ints(2, 2, 81), outputs=3, axis=3)
        xy = net.op("Mul", net.op("Sigmoid", xy), net.scalar(stride))
        wh = net.op("Mul", net.op("Exp", wh), net.scalar(stride))
        row = net.op("Concat", xy, wh, net.op("Sigmoid", rest), axis=3)
        rows.append(net.op("Reshape", row, net.ints(1, 3 * size * size, 85)))
    net.output(net.op("Concat", *rows, axis=1), "y", [1, 2535, 85])
    return net.model()


def unet_256():
    """Ronneberger et al. 2015, padded, 32 channels wide at the top."""
    net = Net("unet_256")

    def two(x, n_in, n_out):
        return net.conv(net.conv(x, n_in, n_out, 3, act="relu"), n_out, n_out, 3, act="relu")

    x, n_in, skips = net.input("x", [1, 3, 256, 256]), 3, []
    for n_out in (32, 64, 128, 256):
        x, n_in = two(x, n_in, n_out), n_out
        skips.append(x)
        x = net.max_pool(x, 2, 2)
    x, n_in = two(x, 256, 512), 512
    for n_out in (256, 128, 64, 32):
        up = net.op("ConvTranspose", x, net.weight(n_in, n_out, 2, 2, fan_in=n_in), net.bias(n_out),
                    kernel_shape=[2, 2], strides=[2, 2])
        x, n_in = two(net.op("Concat", skips.pop(), up, axis=1), 2 * n_out, n_out), n_out
    net.output(net.op("Sigmoid", net.conv(x, 32, 1, 1, gain=1.0)), "y", [1, 1, 256, 256])
    return net.model()


def super_resolution_224():
    """Shi et al. 2016: three times larger, by moving channels into pixels."""
    net = Net("super_resolution_224")
    x = net.input("x", [1, 1, 224, 224])
    x = net.conv(x, 1, 64, 5, act="relu")
    x = net.conv(x, 64, 64, 3, act="relu")
    x = net.conv(net.conv(x, 64, 32, 3, act="relu"), 32, 9, 3, gain=1.0)
    net.output(net.op("DepthToSpace", x, blocksize=3, mode="CRD"), "y", [1, 1, 672, 672])
    return net.model()
