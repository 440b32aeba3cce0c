"""Cases of operators that PyTorch composes of others."""

import torch
from tensors import b8, f16, f32, f64, fill, i8, i32, i64, t, u8, unit


def composites(c):
    square = fill((2, 3, 3), f32) + 6 * torch.eye(3)
    definite = square @ square.mT
    for a, b in (((3,), (3,)), ((2, 3), (4, 3)), ((), (2, 3)), ((2, 3), (3,)), ((2, 1, 2), (3, 2))):
        c.add("inner", fill(a, f32), fill(b, f32, 1))
    c.add("inner", fill((3,), i64), fill((2, 3), i64))
    c.add("cross", fill((2, 3, 3), f32), fill((2, 3, 3), f32, 1))
    c.add("cross", fill((3, 2), i32), fill((3, 2), i32, 1), 0)
    c.add("linalg_vecdot", fill((2, 3), f32), fill((3,), f32, 1))
    c.add("linalg_vecdot", fill((2, 3), f32), fill((2, 3), f32, 1), dim=0)
    c.add("linalg_matmul", fill((2, 3), f32), fill((3,), f32, 1))
    for alpha, beta in ((1, 1), (0.5, 2.0), (2, 0)):
        c.add("addr", fill((2, 3), f32), fill((2,), f32), fill((3,), f32), alpha=alpha, beta=beta)
        given = fill((2,), f32), fill((2, 2, 3), f32), fill((2, 3, 2), f32, 1)
        c.add("addbmm", *given, alpha=alpha, beta=beta)
    c.add("addr", fill((3,), i32), fill((2,), i64), fill((3,), i32), alpha=2)
    for name in ("adjoint", "mH", "matrix_H"):
        c.add(name, fill((2, 3), f32))
    c.add("adjoint", fill((2, 3, 1), i32))
    for name in ("matrix_power", "linalg_matrix_power"):
        for n in (0, 1, 2, 5, -1, -2):
            c.add(name, square / 6, n)
    for name in ("linalg_cholesky", "linalg_cholesky_ex"):
        c.add(name, definite)
        c.add(name, definite[0].double(), upper=True)
    lower, upper = square.tril(), square.triu()
    right = fill((2, 3, 2), f32)
    c.add("linalg_solve_triangular", lower, right, upper=False)
    c.add("linalg_solve_triangular", square, right, upper=True)
    c.add("linalg_solve_triangular", upper, right.mT, upper=True, left=False)
    c.add("linalg_solve_triangular", square, right, upper=False, unitriangular=True)
    for name in ("cov", "corrcoef"):
        c.add(name, fill((3, 4), f32))
        c.add(name, fill((4,), f64))
    c.add("cov", fill((2, 4), i32), correction=0)
    for name in ("trapezoid", "trapz", "cumulative_trapezoid"):
        c.add(name + ".dx", fill((2, 4), f32))
        c.add(name + ".dx", fill((2, 4), f32), dx=0.5, dim=0)
        c.add(name + ".x", fill((2, 4), f32), t([0.0, 1.0, 4.0, 5.5]))
        c.add(name + ".x", fill((3, 2), f32), fill((3, 2), f32, 1), dim=0)
    for p in (2, 1, 0.5, float("inf")):
        c.add("dist", fill((2, 3), f32), fill((3,), f32, 1), p)
        if p != float("inf"):
            c.add("renorm", fill((2, 3, 2), f32), p, 1, 2.5)
    for how in (0, 1, 2):
        c.add("binary_cross_entropy", unit((2, 3)), unit((2, 3)) / 2, None, how)
        ends = t([0.0, 1.0, 0.3]), t([0.0, 0.5, 1.0]), t([1.0, 2.0, 3.0])
        c.add("binary_cross_entropy", *ends, how)
    c.add("vander", fill((4,), f32))
    c.add("vander", fill((3,), i64), 5, True)
    c.add("linalg_vander", fill((2, 3), f32), N=2)
    c.add("combinations", fill((4,), f32))
    c.add("combinations", fill((3,), i32), 3, True)
    c.add("combinations", fill((2,), f32), 3)
    c.add("diagflat", fill((2, 2), f32), 1)
    for shape in ((), (2,), (2, 3), (1, 2, 3)):
        c.add("atleast_3d", fill(shape, f32))
    for dtype in (i8, u8, i32, i64):
        a, b = t([12, 18, 0, 7, 0, 100], dtype), t([8, 27, 5, 21, 0, 75], dtype)
        c.add("gcd", a, b)
        c.add("lcm", a, b // 5)
    c.add("gcd", t([-12, 18], i32), t([[8], [-27]], i64))
    c.add("gcd", t([4181, 2**31 - 1], i32), t([2584, 2**31 - 2], i32))
    c.add("ldexp.Tensor", fill((3,), f32), t([1, -2, 3], i32))
    c.add("ldexp.Tensor", fill((3,), i32), t([0.5, 2.0, -1.0]))
    c.add("special_xlog1py", t([0.0, 0.0, 2.0, -1.0]), t([-1.0, float("nan"), 0.5, 1e-7]))
    c.add("special_xlog1py.other_scalar", fill((3,), i32), 2)
    c.add("special_xlog1py.self_scalar", 0.5, unit((3,)))
    for name in ("digamma", "special_digamma", "special_psi"):
        c.add(name, t([0.1, 0.5, 1.0, 2.5, 7.9, 8.1, 100.0, -0.5, -3.7]))
    c.add("digamma", t([0.0, -0.0, -1.0, -2.0, float("inf"), float("nan")]))
    c.add("digamma", t([1, 2, 10], i32))
    c.add("frexp.Tensor", t([0.0, 1.0, 0.5, -3.0, 1e-30, 0.99999994, float("inf"), 7.5]))
    c.add("frexp.Tensor", t([0.75, -4096.0], f16))
    c.add("_weight_norm_interface", fill((3, 2, 2), f32), fill((3, 1, 1), f32, 1))
    for given in ((fill((3,), f32), fill((3,), f32, 1)), (None, None)):
        x = fill((2, 3, 2), f32)
        c.add("_native_batch_norm_legit.no_stats", x, *given, True, 0.1, 1e-5)
    c.add("__and__.Tensor", fill((3,), b8), fill((3,), b8, 1))
    rois = t([[0, 0, 0, 2.5, 2.5], [1, 1, 0.5, 3, 3.5], [0, 2.6, 1.4, 1.0, 0.0]])
    for scale in (1.0, 0.5):
        c.add("torchvision::roi_pool", fill((2, 2, 5, 4), f32), rois, scale, 2, 3, n_out=1)
