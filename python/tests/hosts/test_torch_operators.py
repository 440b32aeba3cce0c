"""Operators of a plug-in as torch.ops, with fake tensors; needs torch, for compiling onnxscript."""

import pytest

torch = pytest.importorskip("torch", minversion="2.8")

import tenon  # noqa: E402
import tenon.torch  # noqa: E402
from torch._subclasses import FakeTensorMode  # noqa: E402


@pytest.fixture(scope="module")
def made():
    """Those of contrib, which is installed with the package or stands in TENON_PLUGIN_PATH."""
    paths = [p["path"] for p in tenon.Runtime().plugins() if p["name"] == "contrib"]
    if not paths:
        pytest.skip("there is no plug-in contrib")
    return tenon.torch.load_operators(paths[0])


def test_they_compute(made):
    assert "com_microsoft::QuickGelu" in made and len(made) > 40
    x = torch.randn(3, 8)
    ops = torch.ops.com_microsoft
    torch.testing.assert_close(ops.QuickGelu(x, alpha=2.0), x * torch.sigmoid(2 * x))
    torch.testing.assert_close(ops.Gelu(x.T), torch.nn.functional.gelu(x.T), rtol=1e-4, atol=1e-5)
    with pytest.raises(tenon.Error, match="Gelu"):
        ops.Gelu(torch.ones(3, dtype=torch.int32))
    with pytest.raises(RuntimeError, match="alpha"):
        ops.QuickGelu(x, alpha="much")


def test_fake_tensors(made):
    with FakeTensorMode():
        y = torch.ops.com_microsoft.FusedMatMul(torch.empty(5, 2, 3), torch.empty(5, 3, 4))
        assert y.shape == (5, 2, 4) and y.dtype == torch.float32
        with pytest.raises(tenon.Error, match="FusedMatMul"):
            torch.ops.com_microsoft.FusedMatMul(torch.empty(2, 3), torch.empty(2, 3))


def test_in_compiled_models(made):
    def model(x, w):
        return torch.ops.com_microsoft.FusedMatMul(x, w, alpha=0.5, transB=1) + 1

    x, w = torch.randn(4, 3), torch.randn(5, 3)
    want = x @ w.T * 0.5 + 1
    torch._dynamo.reset()
    graph = torch.compile(model, backend="eager", fullgraph=True)
    torch.testing.assert_close(graph(x, w), want)
    pytest.importorskip("onnxscript")
    torch._dynamo.reset()
    run = torch.compile(model, backend="tenon", options={"fallback": "forbid"})
    with torch.no_grad():
        torch.testing.assert_close(run(x, w), want)
