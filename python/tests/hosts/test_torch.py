"""torch.compile(model, backend="tenon"); needs torch."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.8")

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


@pytest.fixture
def loads(monkeypatch):
    """How many models were loaded: a list that grows."""
    made, load = [], tenon.torch.load
    monkeypatch.setattr(tenon.torch, "load", lambda *a, **k: made.append(load(*a, **k)) or made[-1])
    return made


class Open(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.conv = torch.nn.BatchNorm1d(4), torch.nn.Conv1d(4, 4, 3)

    def forward(self, x, n, f):
        y = self.conv(self.norm(x)) * f
        return y.reshape(x.shape[0] * y.shape[2], -1), x[:, :, n:], torch.arange(x.shape[2]) + n


def test_one_model_for_all_sizes(loads):
    model = Open().eval()
    run = torch.compile(model, backend="tenon", dynamic=True, options={"fallback": "forbid"})
    with torch.no_grad():
        for k in range(2, 9):
            args = torch.rand(k, 4, 9 + k), k + 1, 0.5
            torch.testing.assert_close(run(*args), model(*args), rtol=1e-4, atol=1e-5)
        assert len(loads) == 1
        for k in range(8):  # a number of Python's is constant until it has had some values
            args = torch.rand(2, 4, 9 + k), 3, 1 + k / 4
            torch.testing.assert_close(run(*args), model(*args), rtol=1e-4, atol=1e-5)
    assert len(loads) == 3


def test_other_sizes_after_the_first(loads):
    linear = torch.nn.Linear(6, 3)
    run = compiled(linear)
    with torch.no_grad():
        for n in range(2, 9):
            x = torch.rand(n, 6)
            torch.testing.assert_close(run(x), linear(x), rtol=1e-4, atol=1e-5)
    assert len(loads) == 2  # the first size alone, then any


def test_sizes_that_a_model_cannot_leave_open(loads):
    def windows(x):
        return torch.as_strided(x + 1, (x.shape[0] - 1, 3), (x.shape[1], 1))

    run = torch.compile(windows, backend="tenon", dynamic=True, options={"fallback": "forbid"})
    with torch.no_grad():
        for _ in range(2):
            for n in (3, 5, 8):
                x = torch.rand(n, 6)
                torch.testing.assert_close(run(x), windows(x))


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


def twice(make, *inputs, **options):
    """Two models of a kind, one of them compiled, answer the same in three calls, and leave the
    same in what they write."""
    one, other = make(), make()
    mine, theirs = ([x.clone() for x in inputs] for _ in range(2))
    run = compiled(one, **options)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(run(*mine), other(*theirs), rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(mine, theirs)
    return one, run


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int64])
def test_writes_to_buffers_and_inputs(dtype):
    counter, _ = twice(lambda: Counter().eval(), torch.ones(3))
    assert counter.n.tolist() == [3, 3, 3]

    def cache(kept, x, at):
        kept.index_copy_(1, at, x)
        return kept.sum(1) + x[:, 0]

    twice(lambda: cache, torch.ones(2, 4, 3).to(dtype), torch.ones(2, 1, 3).to(dtype), torch.tensor([2]))
    strided = torch.ones(3, 4, 2).to(dtype).transpose(0, 2)
    kept = strided.clone(memory_format=torch.preserve_format)
    with torch.no_grad():
        x, at = torch.full((2, 1, 3), 2).to(dtype), torch.tensor([1])
        torch.testing.assert_close(compiled(cache)(kept, x, at), cache(strided, x, at))
        torch.testing.assert_close(kept, strided)
        assert kept._version > 0


def test_writes_are_seen_by_other_graphs():
    counter = Counter().eval()
    write, read = compiled(counter), compiled(lambda x: x + counter.n)
    with torch.no_grad():
        for k in range(1, 6):
            write(torch.zeros(3))
            assert read(torch.zeros(3)).tolist() == [k] * 3


def test_views_of_inputs_and_numbers():
    def views(x, n):
        x.mul_(2)
        return x.view(-1), x.T[:2], x, x.shape[0] * n, x + 1, x[0].add_(1)

    twice(lambda: views, torch.rand(4, 3), torch.tensor(3))
    with torch.no_grad():
        x = torch.rand(4, 3)
        flat = compiled(lambda x: (x.view(-1), x + 1))(x)[0]
    assert flat.data_ptr() == x.data_ptr()
    run = torch.compile(
        lambda x: (x * 2, x.shape[0] + 1), backend="tenon", dynamic=True, options={"fallback": "forbid"}
    )
    with torch.no_grad():
        assert [run(torch.ones(n, 2))[1] for n in (2, 3, 7)] == [3, 4, 8]


def test_nothing_to_compute(loads):
    run = compiled(lambda x: (x.view(-1), x.shape[0], None))
    with torch.no_grad():
        x = torch.rand(4, 3)
        flat, n, none = run(x)
    assert (flat.data_ptr(), n, none, loads) == (x.data_ptr(), 4, None, [])


def test_as_strided_reads_memory():
    def windows(x):
        return torch.as_strided(x + 1, (3, 4), (4, 1))

    same(windows, torch.rand(4, 6))
    with torch.no_grad(), pytest.raises(tenon.Error, match="as_strided of a tensor"):
        compiled(windows)(torch.rand(6, 4).T)


def unknown(x):
    return torch.linalg.eigvals(x).real.sum() + x


def test_what_is_refused():
    x = torch.rand(3)
    with torch.no_grad(), pytest.raises(tenon.Error, match="eigvals"):
        compiled(unknown)(torch.eye(3))
    with torch.no_grad(), pytest.raises(Exception, match="no option speed"):
        torch.compile(torch.sin, backend="tenon", options={"speed": 1})(x)
    with pytest.raises(Exception, match="gradients are wanted"):
        compiled(torch.nn.Linear(3, 3))(x)


def test_fallback_is_pytorch():
    run = torch.compile(unknown, backend="tenon")
    with torch.no_grad(), pytest.warns(UserWarning, match="PyTorch runs it"):
        first = run(torch.eye(3))
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")
        second = run(torch.eye(3))
    assert first.tolist() == second.tolist() == (torch.eye(3) + 3).tolist()
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
