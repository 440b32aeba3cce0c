"""examples/one_plugin_many_hosts: every host that is here agrees, and the others are named."""

import subprocess
import sys

import pytest
from conftest import BUILD
from conftest_paths import SOURCE

EXAMPLE = SOURCE / "examples" / "one_plugin_many_hosts"
GENERATOR = BUILD / "tenon-gen"
PACKAGES = ["onnxruntime", "torch", "ai_edge_litert", "tvm_ffi", "jax", "libggml"]


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    if not GENERATOR.exists():
        pytest.skip(f"there is no {GENERATOR}")
    folder = tmp_path_factory.mktemp("swish")
    make = [GENERATOR, "--plugin", "swish", EXAMPLE / "swish.yaml", "-o", folder]
    subprocess.run(make, check=True)
    sources = [EXAMPLE / "swish.c", folder / "plugin.c"]
    headers = [f"-I{folder}", f"-I{SOURCE / 'include'}"]
    compiled = ["cc", "-std=c11", "-shared", "-fPIC", *headers, *sources, "-lm"]
    subprocess.run([*compiled, "-o", folder / "swish.so"], check=True)
    return folder / "swish.so"


def lines_of(*arguments, **more):
    run = [sys.executable, *arguments]
    done = subprocess.run(run, capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_hosts_agree(plugin):
    lines = lines_of(EXAMPLE / "hosts.py", plugin)
    assert len(lines) == 10 and lines[1].startswith("tenon op run") and "-0.182426" in lines[1]
    assert all("-0.182426" in line or "skipped: no package" in line for line in lines)


def test_without_packages(plugin):
    hide = f"import sys; sys.modules.update(dict.fromkeys({PACKAGES})); sys.argv = sys.argv[1:];"
    run = f"{hide} import runpy; runpy.run_path(sys.argv[0], run_name='__main__')"
    lines = lines_of("-c", run, EXAMPLE / "hosts.py", plugin)
    assert [("skipped: no package" in line) for line in lines] == [False] * 3 + [True] * 7


def test_onnx_runtime_says_why(plugin):
    onnxruntime, onnx = pytest.importorskip("onnxruntime"), pytest.importorskip("onnx")
    import tenon.onnxruntime

    def session(plugins, **attributes):
        make = onnx.helper
        node = make.make_node("Swish", ["x"], ["y"], domain="com.example", **attributes)
        x, y = (make.make_tensor_value_info(name, 1, [2]) for name in "xy")
        opsets = [make.make_opsetid("com.example", 1)]
        graph = make.make_graph([node], "swish", [x], [y])
        model = make.make_model(graph, opset_imports=opsets, ir_version=8)
        options = onnxruntime.SessionOptions()
        options.add_provider_for_devices(tenon.onnxruntime.devices(), {"plugins": str(plugins)})
        options.register_custom_ops_library(tenon.onnxruntime.library())
        return onnxruntime.InferenceSession(model.SerializeToString(), options)

    first, second = session(plugin), session(plugin, beta=2.0)
    assert [s.get_outputs()[0].name for s in (first, second)] == ["y", "y"]
    with pytest.raises(Exception, match="/no/such.so: there is no such file"):
        session("/no/such.so")
    with pytest.raises(Exception, match="com.example::Swish is computed by TenonExecutionProvider"):
        session(plugin, gamma=2.0)
    with pytest.raises(Exception, match="option plugins is longer"):
        session("/x" * 2500)
