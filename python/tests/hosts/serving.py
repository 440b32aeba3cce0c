"""What the tests of servers share: a server in a process of its own, and requests to it."""

import concurrent.futures
import contextlib
import json
import pathlib
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import numpy as np
import onnx
from onnx import helper as h

WIDTH = 1024


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def make_model(path):
    """y = x W of WIDTH x WIDTH, W in a file beside the model, and what is greater than 0 in x."""
    w = np.random.default_rng(1).standard_normal((WIDTH, WIDTH)).astype(np.float32) / 32
    f32, rows = onnx.TensorProto.FLOAT, ["n", WIDTH]
    graph = h.make_graph(
        [
            h.make_node("MatMul", ["x", "w"], ["y"]),
            h.make_node("Greater", ["x", "zero"], ["positive"]),
        ],
        "product",
        [h.make_tensor_value_info("x", f32, rows)],
        [
            h.make_tensor_value_info("y", f32, rows),
            h.make_tensor_value_info("positive", onnx.TensorProto.BOOL, rows),
        ],
        [onnx.numpy_helper.from_array(w, "w"), onnx.numpy_helper.from_array(np.float32(0), "zero")],
    )
    model = h.make_model(graph, ir_version=8, opset_imports=[h.make_opsetid("", 17)])
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=64)
    return w


class Server:
    """A server that speaks the Open Inference Protocol at a port of this machine."""

    def __init__(self, process, port, log):
        self.process, self.port, self.log = process, port, log

    def call(self, path, body=None):
        """Status and answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as e:
            return e.code, json.loads(e.read() or b"{}")

    def infer(self, x, outputs=()):
        body = {
            "inputs": [
                {"name": "x", "shape": list(x.shape), "datatype": "FP32", "data": x.ravel().tolist()}
            ]
        }
        if outputs:
            body["outputs"] = [{"name": name} for name in outputs]
        return self.call("/v2/models/product/infer", body)

    def patient_infer(self, x):
        """Asks again where a worker died: as a client does, and a balancer for it."""
        for _ in range(50):
            with contextlib.suppress(OSError):
                status, answer = self.infer(x, ["y"])
                if status == 200:
                    return np.array(answer["outputs"][0]["data"], np.float32)
                assert status >= 500 or status == 429, answer
            time.sleep(0.2)
        raise AssertionError("no answer")

    def workers(self):
        """Processes that have loaded the model's library."""
        return [pid for pid in _below(self.process.pid) if "_tenon" in _read(pid, "maps")]


def _read(pid, name):
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""


def _below(pid):
    found = []
    for child in map(int, _read(pid, f"task/{pid}/children").split()):
        found += [child, *_below(child)]
    return found


def mapped(pid, file):
    """Bytes of a file that a process has mapped and in memory: all of them, and its share."""
    total = share = 0
    inside = False
    for line in _read(pid, "smaps").splitlines():
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            inside = line.endswith(str(file))
        elif inside and words[0] == "Rss:":
            total += int(words[1]) << 10
        elif inside and words[0] == "Pss:":
            share += int(words[1]) << 10
    return total, share


@contextlib.contextmanager
def server(command, port, ready, folder):
    log = open(folder / "log", "w+")
    process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    it = Server(process, port, log)
    try:
        for _ in range(600):
            assert process.poll() is None, (folder / "log").read_text()
            with contextlib.suppress(OSError):
                if it.call(ready)[0] == 200:
                    break
            time.sleep(0.1)
        yield it
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()


def in_parallel(n, call, clients=8):
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        return list(pool.map(call, range(n)))


def check_answers(it, w):
    """Right answers by REST, chosen outputs, and refusals that say why."""
    x = np.random.default_rng(2).standard_normal((3, WIDTH)).astype(np.float32)
    status, answer = it.infer(x)
    assert status == 200, answer
    outputs = {o["name"]: o for o in answer["outputs"]}
    assert outputs["y"]["shape"] == [3, WIDTH] and outputs["positive"]["datatype"] == "BOOL"
    y = np.array(outputs["y"]["data"], np.float32).reshape(3, WIDTH)
    np.testing.assert_allclose(y, x @ w, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(np.array(outputs["positive"]["data"]), (x > 0).ravel())
    status, answer = it.infer(x, ["positive"])
    assert status == 200 and [o["name"] for o in answer["outputs"]] == ["positive"]
    for wrong, outputs, why in [(x[:, :7], (), "input 'x'"), (x, ["z"], "no output 'z'")]:
        status, answer = it.infer(wrong, outputs)
        assert status == 400 and why in answer["error"], answer
    check_refusals(it)
    status, answer = it.call("/v2/models/product")
    assert answer["inputs"][0] == {**answer["inputs"][0], "datatype": "FP32", "shape": [-1, WIDTH]}


def check_refusals(it):
    """Requests that lie: each is the client's mistake, and the server answers the next one."""
    good = {"name": "x", "shape": [1, WIDTH], "datatype": "FP32", "data": [1.0] * WIDTH}
    lies = [
        {"shape": [-1, WIDTH]},
        {"shape": [-1, -1]},
        {"shape": [2, WIDTH]},
        {"shape": [2**62, 4]},
        {"shape": [1] * 70, "data": [1.0]},
        {"shape": []},
        {"data": [[1.0] * WIDTH, [1.0]]},
        {"data": [1.0] * (WIDTH - 1) + ["x"]},
        {"data": {"a": 1}},
        {"datatype": "INT8"},
        {"datatype": "UINT8", "data": [-5] * WIDTH},
        {"datatype": "INT64", "data": [2**80] * WIDTH},
        {"datatype": "BYTES"},
        {"datatype": "BF16"},
        {"name": "z"},
        {"name": None},
    ]
    requests = [[good, good], [], ["x"], None, *([{**good, **lie}] for lie in lies)]
    for inputs in requests:
        status, answer = it.call("/v2/models/product/infer", {"inputs": inputs})
        assert status in (400, 422), (str(inputs)[:100], status, str(answer)[:300])
    status, answer = it.call("/v2/models/product/infer", {"inputs": [good, good]})
    assert "input 'x' is given twice" in answer["error"], answer
    assert it.call("/v2/models/product/infer", {"inputs": [good]})[0] == 200


def check_load(it, w, n=200):
    """Many clients at once, each with its own input."""

    def ask(k):
        x = np.full((1, WIDTH), 1 + k % 7, np.float32)
        return np.allclose(it.patient_infer(x), (x @ w).ravel(), rtol=1e-4, atol=1e-3)

    assert all(in_parallel(n, ask))
