"""tenon.serve in KServe: REST, gRPC, load."""

import sys

import numpy as np
import pytest

pytest.importorskip("kserve")
pytest.importorskip("onnx.helper")

import serving  # noqa: E402


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kserve")
    w = serving.make_model(folder / "model.onnx")
    http, grpc = serving.free_ports(2)
    command = [sys.executable, "-m", "tenon.serve.kserve", "--model_name", "product"]
    command += ["--model_path", "model.onnx", "--http_port", str(http), "--grpc_port", str(grpc)]
    with serving.server(command, http, "/v2/models/product/ready", folder) as it:
        it.grpc = grpc
        yield it, w


def test_rest(product):
    serving.check_answers(*product)


def test_grpc(product):
    import asyncio

    import kserve

    it, w = product
    x = np.linspace(-1, 1, serving.WIDTH, dtype=np.float32)[None]
    tensor = kserve.InferInput("x", list(x.shape), "FP32")
    tensor.set_data_from_numpy(x)

    async def ask():
        client = kserve.InferenceGRPCClient(f"127.0.0.1:{it.grpc}")
        return await client.infer(kserve.InferRequest("product", [tensor]))

    answer = asyncio.run(ask())
    y = {o.name: o.as_numpy() for o in answer.outputs}["y"]
    np.testing.assert_allclose(y, x @ w, rtol=1e-4, atol=1e-4)


def test_grpc_text_that_is_shorter_than_it_says(product):
    """A mistake of the request, not of the server."""
    import grpc
    from kserve.protocol.grpc import grpc_predict_v2_pb2 as messages
    from kserve.protocol.grpc import grpc_predict_v2_pb2_grpc as calls

    request = messages.ModelInferRequest(model_name="product")
    tensor = request.inputs.add()
    tensor.name, tensor.datatype = "x", "BYTES"
    tensor.shape.append(1)
    request.raw_input_contents.append(b"\x64\0\0\0a")
    with grpc.insecure_channel(f"127.0.0.1:{product[0].grpc}") as channel:
        with pytest.raises(grpc.RpcError) as error:
            calls.GRPCInferenceServiceStub(channel).ModelInfer(request, timeout=30)
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "input 'x'" in error.value.details()


def test_load(product):
    serving.check_load(*product)
