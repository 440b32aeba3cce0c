"""Types, and small tensors of which cases are made."""

import torch

DTYPES = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint8: "u8",
    torch.bool: "bool",
}
f32, f64, f16, bf16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
i8, i32, i64, u8, b8 = torch.int8, torch.int32, torch.int64, torch.uint8, torch.bool
NAN, INF = float("nan"), float("inf")


def t(values, dtype=f32):
    return torch.tensor(values, dtype=dtype)


def fill(shape, dtype, k=0):
    """Small numbers of both signs, with zeros and equal ones."""
    n = 1
    for d in shape:
        n *= d
    values = [((i * 7 + 3 * k) % 11 - 5) * 0.5 for i in range(n)]
    if dtype == b8:
        values = [v > 0 for v in values]
    elif dtype == u8:
        values = [abs(v) * 2 for v in values]
    elif dtype in (i8, i32, i64):
        values = [v * 2 for v in values]
    return (
        torch.tensor(values, dtype=f64 if not values or dtype != b8 else b8)
        .to(dtype)
        .reshape(shape)
    )


def unit(shape, dtype=f32, k=0):
    return (fill(shape, f32, k).abs() / 3 + 0.05).to(dtype)


def edge(dtype=f32):
    return t([0.0, -0.0, INF, -INF, NAN, 1.5], dtype)
