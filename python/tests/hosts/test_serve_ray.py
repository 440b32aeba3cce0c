"""tenon.serve.Predictor in Ray: batches over workers, a killed worker, a deployment."""

import os
import pickle
import signal

import numpy as np
import pytest

pytest.importorskip("onnx.helper")

import serving  # noqa: E402
import tenon.serve  # noqa: E402


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("ray") / "model.onnx")
    return path, serving.make_model(path)


def test_pickled(model):
    path, w = model
    predict = pickle.loads(pickle.dumps(tenon.serve.Predictor(path)))
    batch = {"x": np.ones((2, serving.WIDTH), np.float32), "id": np.array([7, 8])}
    answer = predict(batch)
    assert answer["id"].tolist() == [7, 8] and set(answer) == {"x", "id", "y", "positive"}
    np.testing.assert_allclose(answer["y"], batch["x"] @ w, rtol=1e-4, atol=1e-4)


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray")
    here = {"env_vars": {"PYTHONPATH": os.path.dirname(__file__)}}  # of Mortal
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=here)
    yield ray
    ray.shutdown()


class Mortal(tenon.serve.Predictor):
    """Dies once, in the middle of a batch."""

    def __init__(self, path, mark):
        super().__init__(path)
        self._mark = mark

    def __call__(self, batch):
        if 64 in batch["id"]:
            try:
                os.close(os.open(self._mark, os.O_CREAT | os.O_EXCL))
                os.kill(os.getpid(), signal.SIGKILL)
            except FileExistsError:
                pass
        return super().__call__(batch)


def test_batches_survive_a_worker(ray, model, tmp_path):
    path, w = model
    mark = tmp_path / "died"
    rows = [{"id": k, "x": np.full(serving.WIDTH, k % 5, np.float32)} for k in range(128)]
    answers = (
        ray.data.from_items(rows)
        .map_batches(Mortal, fn_constructor_args=[path, str(mark)], batch_size=16, concurrency=2)
        .take_all()
    )
    assert mark.exists() and sorted(row["id"] for row in answers) == list(range(128))
    for row in answers:
        np.testing.assert_allclose(row["y"], row["x"] @ w, rtol=1e-4, atol=1e-3)


def test_deployment(ray, model):
    serve = pytest.importorskip("ray.serve")
    path, w = model
    serve.start(proxy_location="Disabled")  # it is called by its handle, not by HTTP
    app = serve.deployment(num_replicas=2)(tenon.serve.Predictor).bind(path)
    handle = serve.run(app, name="product", route_prefix=None)
    x = np.ones((1, serving.WIDTH), np.float32)
    answers = [handle.remote({"x": (k % 3) * x}) for k in range(60)]
    for k, answer in enumerate(answers):
        np.testing.assert_allclose(answer.result()["y"], (k % 3) * x @ w, rtol=1e-4, atol=1e-3)
    serve.delete("product")
