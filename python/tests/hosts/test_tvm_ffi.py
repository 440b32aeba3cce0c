"""Operators through tvm-ffi, on tensors of PyTorch; needs apache-tvm-ffi and torch."""

import threading

import pytest

torch = pytest.importorskip("torch")
tvm_ffi = pytest.importorskip("tvm_ffi")

import tenon.tvm_ffi  # noqa: E402


@pytest.fixture(scope="module")
def tvm():
    return tenon.tvm_ffi.module()


def test_operators(tvm):
    x, y = torch.randn(3, 8), torch.empty(3, 8)
    tvm.run("Softmax", "axis=0", 1, x, y)
    torch.testing.assert_close(y, x.softmax(0))
    a, b, c = torch.randn(4, 5), torch.randn(5, 6), torch.empty(4, 6)
    for _ in range(3):
        a.normal_()
        tvm.run("MatMul", "", 2, a, b, c)
        torch.testing.assert_close(c, a @ b, rtol=1e-4, atol=1e-5)
    half = torch.empty(8, dtype=torch.int64)
    tvm.run("Concat", "axis=0", 3, *[torch.arange(k) for k in (3, 3, 2)], half)
    assert half.tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    top, at = torch.empty(2), torch.empty(2, dtype=torch.int64)
    tvm.run("TopK", "axis=0; largest=1", 2, torch.tensor([1.0, 5, 3]), torch.tensor([2]), top, at)
    assert top.tolist() == [5, 3] and at.tolist() == [1, 2]


def test_a_plugin(tvm):
    paths = [p["path"] for p in tenon.Runtime().plugins() if p["name"] == "contrib"]
    if not paths:
        pytest.skip("there is no plug-in contrib")
    x, y = torch.randn(16), torch.empty(16)
    tvm.run("com.microsoft::QuickGelu", "alpha=2.0", 1, x, y)
    torch.testing.assert_close(y, x * torch.sigmoid(2 * x), rtol=1e-4, atol=1e-5)


def test_errors(tvm):
    x, y = torch.randn(3, 8), torch.empty(3, 8)
    for pattern, args in [
        ("no operator 'Nothing'", ("Nothing", "", 1, x, y)),
        ("attributes are", ("Softmax", "axis", 1, x, y)),
        ("axis", ("Softmax", "axis=7", 1, x, y)),
        ("output 0 is f32 of rank 2", ("Softmax", "", 1, x, torch.empty(8, 3))),
        ("input 1 is one too many", ("Softmax", "", 2, x, x, y)),
        ("input 0 is not in C order", ("Softmax", "", 1, x.T, y)),
        ("input 0 is no tensor", ("Softmax", "", 1, 3, y)),
        ("output 'output' is f32.3,8., which", ("Softmax", "", 1, x, torch.empty(2))),
        ("run\\(operator", ("Softmax", "", 5, x, y)),
        ("run\\(operator", ("Softmax",)),
    ]:
        with pytest.raises((ValueError, TypeError), match=pattern):
            tvm.run(*args)
    with pytest.raises(ValueError, match="no/such.so"):
        tvm.load_plugin("/no/such.so")
    tvm.run("Softmax", "", 1, x, y)
    torch.testing.assert_close(y, x.softmax(-1))


def test_threads(tvm):
    wrong = []

    def work(k):
        x, y = torch.full((k + 1, 4), float(k)), torch.empty(k + 1, 4)
        for _ in range(200):
            tvm.run("Exp", "", 1, x, y)
            if not torch.allclose(y, x.exp()):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k % 3,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
