#!/usr/bin/env python3
"""Requests per second of MLServer with tenon.serve, and with ONNX Runtime in a class of the same
form, on the same models: both servers are up, and clients take turns at them by REST.

Needs mlserver, onnxruntime and the package tenon. usage: served.py MODEL.onnx ..."""

import asyncio
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from mlserver import MLModel, types
from mlserver.codecs import NumpyCodec

CLIENTS, ROUNDS, SECONDS = 4, 5, 3
HERE = pathlib.Path(__file__).resolve().parent


class OrtModel(MLModel):
    """What tenon.serve.mlserver.TenonModel is, of ONNX Runtime."""

    async def load(self):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        path = self.settings.parameters.uri
        self._session = onnxruntime.InferenceSession(path, options)
        self._names = [o.name for o in self._session.get_outputs()]
        return True

    def _answer(self, request):
        values = self._session.run(
            self._names, {t.name: NumpyCodec.decode_input(t) for t in request.inputs}
        )
        return [NumpyCodec.encode_output(n, v) for n, v in zip(self._names, values)]

    async def predict(self, payload):
        outputs = await asyncio.to_thread(self._answer, payload)
        return types.InferenceResponse(model_name=self.name, outputs=outputs)


def start(folder, implementation, model, port):
    folder.mkdir()
    ports = {"http_port": port, "grpc_port": port + 1, "metrics_port": port + 2}
    settings = {"host": "127.0.0.1", "parallel_workers": 0, "debug": False, **ports}
    parameters = {"uri": str(model)}
    (folder / "settings.json").write_text(json.dumps(settings))
    about = {"name": "m", "implementation": implementation, "parameters": parameters}
    (folder / "model-settings.json").write_text(json.dumps(about))
    command = [os.path.join(os.path.dirname(sys.executable), "mlserver"), "start", "."]
    environment = {**os.environ, "PYTHONPATH": str(HERE), "OMP_NUM_THREADS": "1"}
    log = open(folder / "log", "w")
    return subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=environment)


def call(port, body):
    url = f"http://127.0.0.1:{port}/v2/models/m/" + ("infer" if body else "ready")
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


def rate(port, body):
    end = time.perf_counter() + SECONDS

    def client(_):
        n = 0
        while time.perf_counter() < end:
            call(port, body)
            n += 1
        return n

    with ThreadPoolExecutor(CLIENTS) as pool:
        return sum(pool.map(client, range(CLIENTS))) / SECONDS


def measure(path):
    import tenon

    inputs = []
    for v in tenon.load(path).inputs:
        shape = [d if isinstance(d, int) else 1 for d in v.shape]
        datatype = {"f32": "FP32", "i32": "INT32", "i64": "INT64"}[v.dtype]
        data = np.ones(shape).ravel().tolist()
        inputs.append({"name": v.name, "shape": shape, "datatype": datatype, "data": data})
    body = json.dumps({"inputs": inputs}).encode()
    servers = {18500: "tenon.serve.mlserver.TenonModel", 18600: "served.OrtModel"}
    with tempfile.TemporaryDirectory() as folder:
        processes = [
            start(pathlib.Path(folder) / str(port), name, pathlib.Path(path).resolve(), port)
            for port, name in servers.items()
        ]
        try:
            for port in servers:
                for _ in range(1800):  # a busy machine takes its time
                    with contextlib.suppress(OSError):
                        call(port, b"")
                        break
                    time.sleep(0.1)
                call(port, body)
            rates = {port: [] for port in servers}
            for _ in range(ROUNDS):
                for port in servers:
                    rates[port].append(rate(port, body))
        finally:
            for p in processes:
                p.terminate()
                p.wait()
    tenon_rate, ort_rate = (statistics.median(r) for r in rates.values())
    name = pathlib.Path(path).resolve().parent.name
    print(f"| {name} | {tenon_rate:.0f} | {ort_rate:.0f} | {tenon_rate / ort_rate:.2f} |", flush=True)


if __name__ == "__main__":
    print("| model | tenon.serve | ONNX Runtime | ratio |\n|---|--:|--:|--:|")
    for model in sys.argv[1:]:
        measure(model)
