"""torch.compile(model, backend="tenon"); needs torch and onnxscript."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.8")
pytest.importorskip("onnxscript")

import tenon  # noqa: E402
import tenon.torch  # noqa: E402,F401


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(1)


def compiled(model, **options):
    return torch.compile(model, backend="tenon", options={"fallback": "forbid", **options})


def same(model, *inputs, **options):
    """Compiled twice as quick to write: both answer the same, the second call too."""
    model = model.eval() if isinstance(model, torch.nn.Module) else model
    run = compiled(model, **options)
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(run(*inputs), model(*inputs), rtol=1e-4, atol=1e-5)
    return run


def test_layers_and_shapes():
    conv = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(2)
    )
    run = same(conv, torch.rand(2, 3, 8, 8), threads=2)
    with torch.no_grad():
        other = torch.rand(3, 3, 10, 8)
        torch.testing.assert_close(run(other), conv(other), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm_first", [False, True])
def test_transformer(norm_first):
    layer = torch.nn.TransformerEncoderLayer(
        32, 4, 64, batch_first=True, norm_first=norm_first, activation="gelu"
    )
    same(torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), torch.rand(2, 7, 32))


def test_structures_and_types():
    def structured(x):
        return {"a": x.bfloat16() * 3, "b": [x > 0, x.shape[0], None], "c": (x * 9).long()}

    same(structured, torch.rand(4, 3) - 0.5)
    same(torch.nn.Linear(8, 4).bfloat16(), torch.rand(2, 8).bfloat16())
    same(torch.nn.Linear(8, 4).half(), torch.rand(2, 8).half())
    same(torch.nn.Linear(8, 4), torch.rand(8, 2).T)  # strided


def test_branches_on_data():
    same(lambda x: x * 2 if x.sum() > 0 else x - 1, torch.ones(3))
    same(lambda x: x * 2 if x.sum() > 0 else x - 1, -torch.ones(3))


def test_changed_weights_are_seen():
    linear = torch.nn.Linear(4, 2).eval()
    run, x = compiled(linear), torch.rand(3, 4)
    with torch.no_grad():
        run(x)
        linear.weight.mul_(2)
        torch.testing.assert_close(run(x), linear(x))
        linear.load_state_dict(torch.nn.Linear(4, 2).state_dict())
        torch.testing.assert_close(run(x), linear(x))


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(3))

    def forward(self, x):
        self.n.add_(1)
        return x + self.n


def test_what_is_refused():
    x = torch.rand(3)
    with torch.no_grad(), pytest.raises(tenon.Error, match="writes to its inputs or buffers"):
        compiled(Counter())(x)
    with torch.no_grad(), pytest.raises(tenon.Error, match="an output is a view of an input"):
        compiled(lambda x: (x.view(-1), x + 1))(x)
    with torch.no_grad(), pytest.raises(Exception, match="no option speed"):
        torch.compile(torch.sin, backend="tenon", options={"speed": 1})(x)
    with pytest.raises(Exception, match="gradients are wanted"):
        compiled(torch.nn.Linear(3, 3))(x)


def test_fallback_is_pytorch():
    counter = Counter()
    run = torch.compile(counter, backend="tenon")
    with torch.no_grad(), pytest.warns(UserWarning, match="PyTorch runs it"):
        first = run(torch.zeros(3))
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")
        second = run(torch.zeros(3))
    assert first.tolist() == [1, 1, 1] and second.tolist() == [2, 2, 2]
    linear = torch.nn.Linear(3, 2)
    with pytest.warns(UserWarning, match="gradients"):
        torch.compile(linear, backend="tenon")(torch.rand(2, 3)).sum().backward()
    assert np.isfinite(linear.weight.grad.numpy()).all()


def test_in_inference_mode():
    model = torch.nn.Linear(4, 4)
    run = compiled(model)
    with torch.inference_mode():
        x = torch.rand(2, 4)
        torch.testing.assert_close(run(x), model(x))
