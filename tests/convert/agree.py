#!/usr/bin/env python3
"""usage: agree.py TENON FOLDER...

Converts each model of the folders that has inputs and outputs stored beside it to ONNX, runs the
file with ONNX Runtime, and compares: whole numbers may differ by a step, others by 1e-3 of the
largest. Folders are laid out as those of `tenon test`; networks of Caffe and TensorFlow as the
shared test data have them. Sets run in order, states go from one to the next.
Exit status 77: ONNX Runtime is not there; 1: a model that was converted does not agree."""
import json, os, re, subprocess, sys, tempfile

try:
    import numpy as np
    import onnxruntime as ort
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

MODEL = re.compile(r"\.(tflite|prototxt|pb|pt|pt2|pte)$")
SKIPPED, REFUSED, FAILED, AGREES = "no stored outputs", "refused", "differs", "agrees"


def raw(path, like):
    """Glow's: a zero byte, then the elements."""
    with open(path, "rb") as f:
        return np.frombuffer(f.read()[1:], dtype=like.dtype)


def load(path):
    if path.endswith(".csv"):
        return np.loadtxt(path, delimiter=",", dtype=np.int64)
    return np.load(path)


def stored(model, kind, k, number, names):
    """The file with input or output k of a set, or None."""
    folder, stem = os.path.dirname(model), re.sub(MODEL, "", model)
    options = [f"{folder}/ref/set{number}_{kind}{k}.npy"]
    if k < len(names):
        name = names[k].replace(":", "_").replace("/", "_")
        options.append(f"{folder}/ref/set{number}_{kind}_{name}.npy")
    if number == 0:
        options.append(f"{stem}.{kind[:2] + 'p' if kind == 'in' else 'out'}{k}")
        word = f"input{k}" if kind == "in" else "golden"
        if kind == "in" or k == 0:
            options += [f"{stem}_{word}_int16.csv", f"{stem}_{word}_int32.csv"]
    sample = f"{folder}/ref/set{number}_{kind}{k}.sample.npy"
    return next((o for o in options + [sample] if os.path.exists(o)), None)


def fit(data, info):
    """As the input of the file wants it; its dims if the stored value has none."""
    dtype = {"float": np.float32, "double": np.float64, "bool": bool, "string": object,
             "float16": np.float16}.get(info.type[7:-1])
    dtype = dtype or np.dtype(info.type[7:-1])
    if isinstance(data, str):
        data = raw(data, np.zeros(0, dtype))
    if data.dtype.kind in "US" or data.dtype == object:
        data = data.astype(object)
    shape = info.shape
    if list(data.shape) != shape and all(isinstance(d, int) for d in shape):
        if data.size == int(np.prod(shape)):
            data = data.reshape(shape)
    return data.astype(dtype)


def differs(got, want_path):
    """None, or what is wrong."""
    if want_path.endswith((".npy", ".csv")):
        want = load(want_path)
    else:
        want = raw(want_path, got)
    if want_path.endswith(".sample.npy"):
        got = got.reshape(-1)[::97]
    if got.size != want.size:
        return f"{got.shape} for {want.shape}"
    got = got.reshape(want.shape)
    if got.dtype == object or want.dtype.kind in "USO":
        text = lambda a: [x.decode() if isinstance(x, bytes) else str(x) for x in a.reshape(-1)]
        return None if text(got) == text(want) else "other strings"
    if got.dtype.kind in "iub":
        d = np.abs(got.astype(np.int64) - want.astype(np.int64))
        if d.size and d.max() > 1:
            return f"by {d.max()} steps; {int((d > 0).sum())} of {d.size} differ"
        return None
    got, want = got.astype(np.float64), want.astype(np.float64)
    if (np.isnan(got) != np.isnan(want)).any():
        return "other NaN"
    ok = np.isfinite(want)
    if (got[~ok & ~np.isnan(want)] != want[~ok & ~np.isnan(want)]).any():
        return "other infinities"
    d = np.abs(got[ok] - want[ok])
    limit = 1e-3 * max(np.abs(want[ok]).max() if ok.any() else 0, 1e-3)
    if d.size and d.max() > limit:
        return f"by {d.max():.3g}, {d.max() / limit * 1e-3:.2g} of the largest"
    return None


def stored_inputs(model, names):
    """Files of the first set's inputs, as far as `tenon` reads them."""
    out = []
    for k in range(64):
        path = stored(model, "in", k, 0, names)
        if not path or not path.endswith(".npy"):
            break
        out.append(path)
    return out


def run(tenon, model, work):
    meta = os.path.join(os.path.dirname(model), "ref", "meta.json")
    meta = json.load(open(meta)) if os.path.exists(meta) else {}
    if not stored(model, "out", 0, 0, meta.get("outputs", [])) :
        return SKIPPED, ""
    target = os.path.join(work, "model.onnx")
    if os.path.exists(target):
        os.remove(target)
    command = [tenon, "convert", model, "-o", target]
    listed = subprocess.run([tenon, "info", model, "--json"], capture_output=True, text=True)
    inputs = []
    if listed.returncode == 0:
        inputs = [i["name"] for i in json.loads(listed.stdout)["inputs"]]
    for path in stored_inputs(model, meta.get("inputs", [])):  # for their types and shapes
        command += ["-i", path]
    if "keep_prob" in inputs:  # of dropout
        command += ["--shape", "keep_prob=1"]
    weights = os.path.join(os.path.dirname(model), "weights.caffemodel")
    if model.endswith(".prototxt") and os.path.exists(weights):
        pair = os.path.join(work, "pair")
        os.makedirs(pair, exist_ok=True)
        for source, to in ((model, "model.prototxt"), (weights, "model.caffemodel")):
            link = os.path.join(pair, to)
            if os.path.lexists(link):
                os.remove(link)
            os.symlink(os.path.abspath(source), link)
        command[2] = os.path.join(pair, "model.prototxt")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [l for l in done.stderr.splitlines() if "note:" not in l]
        return REFUSED, (lines or ["?"])[0].split(model + ": ")[-1]
    try:
        options = ort.SessionOptions()
        options.log_severity_level = 4
        session = ort.InferenceSession(target, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        return FAILED, "ONNX Runtime: " + str(error).replace("\n", " ")[:300]
    return compare(session, model, meta)


def compare(session, model, meta):
    n_states = sum(o.name.startswith("state/") for o in session.get_outputs())
    outputs = session.get_outputs()[: len(session.get_outputs()) - n_states]
    states = {}
    for number in range(16):
        feed = dict(states)
        for k, info in enumerate(session.get_inputs()):
            path = stored(model, "in", k, number, meta.get("inputs", []))
            if path:
                feed[info.name] = fit(load(path) if path.endswith((".npy", ".csv")) else path, info)
            elif info.name == "keep_prob":
                feed[info.name] = np.ones(1, np.float32)  # nothing is dropped
        if number and not stored(model, "out", 0, number, meta.get("outputs", [])):
            break
        given = [i for i in session.get_inputs() if i.name in feed]
        if number and any(list(np.shape(feed[i.name])) != i.shape for i in given):
            break  # of other dims than the file is for
        try:
            got = session.run(None, feed)
        except Exception as error:
            return FAILED, "ONNX Runtime: " + str(error).replace("\n", " ")[:300]
        for k, info in enumerate(session.get_outputs()):
            if info.name.startswith("state/"):
                name = info.name[6:]
                given = session.get_inputs() + session.get_overridable_initializers()
                inputs = [i.name for i in given]
                states[name if name in inputs else name + ".before"] = got[k]
        for k in range(len(outputs)):
            path = stored(model, "out", k, number, meta.get("outputs", []))
            wrong = path and differs(got[k], path)
            if wrong:
                return FAILED, f"set {number}, output {k}: {wrong}"
    return AGREES, ""


def models(folder):
    for root, dirs, files in sorted(os.walk(folder)):
        dirs.sort()
        for f in sorted(files):
            if MODEL.search(f):
                yield os.path.join(root, f)


def main(tenon, folders):
    status = 0
    for folder in folders:
        counts = dict.fromkeys((AGREES, FAILED, REFUSED, SKIPPED), 0)
        with tempfile.TemporaryDirectory() as work:
            for model in models(folder):
                result, why = run(tenon, model, work)
                counts[result] += 1
                if result in (FAILED, REFUSED):
                    print(f"{result:8} {os.path.relpath(model, folder)}: {why}", flush=True)
        print(f"{folder}: " + ", ".join(f"{n} {word}" for word, n in counts.items()), flush=True)
        status = status or counts[FAILED] > 0
    return int(status)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
