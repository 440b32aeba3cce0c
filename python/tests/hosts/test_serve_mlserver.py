"""tenon.serve in MLServer: REST, gRPC, load, a killed worker, shared weights."""

import json
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

pytest.importorskip("mlserver")
pytest.importorskip("onnx.helper")

import serving  # noqa: E402


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlserver")
    w = serving.make_model(folder / "model.onnx")
    http, grpc, metrics = serving.free_ports(3)
    settings = {"host": "127.0.0.1", "http_port": http, "grpc_port": grpc, "metrics_port": metrics}
    model = {
        "name": "product",
        "implementation": "tenon.serve.mlserver.TenonModel",
        "parameters": {"uri": "./model.onnx", "extra": {"threads": 1}},
    }
    (folder / "settings.json").write_text(json.dumps({**settings, "parallel_workers": 2}))
    (folder / "model-settings.json").write_text(json.dumps(model))
    command = [os.path.join(os.path.dirname(sys.executable), "mlserver"), "start", "."]
    with serving.server(command, http, "/v2/models/product/ready", folder) as it:
        it.grpc, it.folder = grpc, folder
        yield it, w


def test_rest(product):
    serving.check_answers(*product)


def test_grpc(product):
    import grpc
    from mlserver.grpc import dataplane_pb2 as pb
    from mlserver.grpc import dataplane_pb2_grpc

    it, w = product
    x = np.linspace(-1, 1, serving.WIDTH, dtype=np.float32)[None]
    tensor = pb.ModelInferRequest.InferInputTensor(
        name="x", datatype="FP32", shape=x.shape, contents=pb.InferTensorContents(fp32_contents=x[0])
    )
    with grpc.insecure_channel(f"127.0.0.1:{it.grpc}") as channel:
        stub = dataplane_pb2_grpc.GRPCInferenceServiceStub(channel)
        answer = stub.ModelInfer(pb.ModelInferRequest(model_name="product", inputs=[tensor]))
    y = np.array(answer.outputs[0].contents.fp32_contents)
    np.testing.assert_allclose(y, (x @ w)[0], rtol=1e-4, atol=1e-4)


def test_load(product):
    serving.check_load(*product)


def test_weights_are_in_memory_once(product):
    it, w = product
    serving.check_load(it, w, 20)  # both workers have run it
    workers = [serving.mapped(pid, it.folder / "weights.bin") for pid in it.workers()]
    loaded = [(total, share) for total, share in workers if total >= w.nbytes]
    assert len(loaded) == 2, workers
    assert all(share < 0.6 * total for total, share in loaded), loaded


def test_killed_worker(product):
    it, w = product
    victim = it.workers()[0]
    killer = threading.Timer(0.3, os.kill, (victim, signal.SIGKILL))
    killer.start()
    serving.check_load(it, w, 400)
    killer.join()
    deadline = time.monotonic() + 60
    while len(it.workers()) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert victim not in it.workers() and len(it.workers()) == 2
