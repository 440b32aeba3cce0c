#!/usr/bin/env python3
"""A development aid: does Tenon read ONNX models as the onnx package does?

  compare.py build/.../onnx_dump FOLDER_OR_MODEL...     needs the Python packages onnx and numpy

Builds from each model the text that tests/onnx/kit.c prints for a graph, and compares the
two line by line. With -w, the graph is written back by Tenon, and the new file is checked by
onnx.checker and read again by both.
"""
import os, struct, subprocess, sys, tempfile, zlib
import numpy as np
import onnx
from onnx import numpy_helper as nh

DTYPE = ("? f32 u8 i8 u16 i16 i32 i64 string bool f16 f64 u32 u64 c64 c128 "
         "bf16 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz u4 i4 f4e2m1 f8e8m0 u2 i2 "
         "f6e2m3 f6e3m2").split()
# numbers of enum in plugin.h
TN = {n: i for i, n in enumerate(
    "? f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool string".split())}
BITS = {"u4": 4, "i4": 4, "f4e2m1": 4, "u2": 2, "i2": 2}
KIND = ["", "sequence of ", "optional ", "map of "]


def shape_text(dtype, dims):
    return "%s[%s]" % (dtype, ",".join("?" if d is None or d < 0 else str(d) for d in dims))


def strings_crc(strings):
    crc = 0
    for s in strings:
        crc = zlib.crc32(b"\0", zlib.crc32(s, crc))
    return crc


def tensor_bytes(t, base):
    name = DTYPE[t.data_type]
    if name.startswith("f6"):  # a byte each in Tenon and in NumPy, but not in the file
        return nh.to_array(t, base).tobytes()
    if t.data_location == 1:
        e = {x.key: x.value for x in t.external_data}
        data = open(os.path.join(base, e["location"]), "rb").read()[int(e.get("offset", 0)):]
        n = int(e["length"]) if "length" in e else nbytes(name, t.dims)
        return data[:n]
    if t.HasField("raw_data") and t.raw_data:
        return t.raw_data
    if name in ("f32", "c64"):
        return struct.pack("<%df" % len(t.float_data), *t.float_data)
    if name in ("f64", "c128"):
        return struct.pack("<%dd" % len(t.double_data), *t.double_data)
    if name == "i64":
        return struct.pack("<%dq" % len(t.int64_data), *t.int64_data)
    if name in ("u32", "u64"):
        kind = "I" if name == "u32" else "Q"
        return struct.pack("<%d%s" % (len(t.uint64_data), kind), *t.uint64_data)
    width = {"i32": 4, "i16": 2, "u16": 2, "f16": 2, "bf16": 2}.get(name, 1)
    return b"".join(struct.pack("<q", v)[:width] for v in t.int32_data)


def nbytes(name, dims):
    n = int(np.prod(dims, dtype=np.int64)) if len(dims) else 1
    if name in BITS:
        return (n * BITS[name] + 7) // 8
    return n * {"f32": 4, "f64": 8, "i64": 8, "u64": 8, "i32": 4, "u32": 4, "c64": 8, 
                "c128": 16, "i16": 2, "u16": 2, "f16": 2, "bf16": 2}.get(name, 1)


def tensor_text(t, base):
    crc = strings_crc(t.string_data) if t.data_type == 8 else zlib.crc32(tensor_bytes(t, base))
    return "%s crc=%08x" % (shape_text(DTYPE[t.data_type], t.dims), crc)


def sparse_text(s, base):
    values, idx = nh.to_array(s.values, base), nh.to_array(s.indices, base)
    dense = np.zeros(list(s.dims), values.dtype)
    if idx.ndim == 1:
        dense.reshape(-1)[idx] = values
    else:
        for k in range(len(values)):
            dense[tuple(idx[k])] = values[k]
    shape = shape_text(DTYPE[s.values.data_type], s.dims)
    return "%s crc=%08x" % (shape, zlib.crc32(dense.tobytes()))


def type_of(tp):
    """kind, elements, dtype, dims, dim names"""
    w = tp.WhichOneof("value")
    if w is None:
        return 0, 0, "?", None, {}
    if w == "tensor_type":
        t = tp.tensor_type
        if not t.HasField("shape"):
            return 0, 0, DTYPE[t.elem_type], None, {}
        dims = [d.dim_value if d.HasField("dim_value") else None for d in t.shape.dim]
        names = {i: d.dim_param for i, d in enumerate(t.shape.dim) if d.dim_param}
        return 0, 0, DTYPE[t.elem_type], dims, names
    inner = {"sequence_type": lambda: tp.sequence_type.elem_type,
             "optional_type": lambda: tp.optional_type.elem_type,
             "map_type": lambda: tp.map_type.value_type}[w]()
    kind = {"sequence_type": 1, "optional_type": 2, "map_type": 3}[w]
    k, e, d, _, _ = type_of(inner)
    el = k | (e & 0xFFFFF) << 4 | (e & 0xFF000000)
    if kind == 3:
        el = (el & 0xFFFFFF) | TN[DTYPE[tp.map_type.key_type]] << 24
    return kind, el, d, None, {}


def type_text(tp):
    kind, el, d, dims, names = type_of(tp)
    s = "kind=%d elements=%x " % (kind, el) if kind else ""
    s += KIND[kind] + (d + "[...]" if dims is None else shape_text(d, dims))
    return s + "".join(" %d:%s" % x for x in sorted(names.items()))


G9 = lambda f: "%.9g" % f


def attr_lines(a, base, ind, out):
    A = onnx.AttributeProto
    kind = {A.INT: 1, A.FLOAT: 2, A.STRING: 3, A.TENSOR: 4, A.GRAPH: 5, A.INTS: 6,
            A.FLOATS: 7, A.STRINGS: 8, A.TENSORS: 9, A.GRAPHS: 10, A.SPARSE_TENSOR: 4,
            A.TYPE_PROTO: 12}[a.type]
    st = lambda b: " %d %08x" % (len(b), zlib.crc32(b))
    if a.ref_attr_name:
        out.append("%*s%s kind=11 %d%s" % (ind, "", a.name, kind, st(a.ref_attr_name.encode())))
        return
    body = ""
    if a.type == A.INT: body = " %d" % a.i
    if a.type == A.FLOAT: body = " " + G9(a.f)
    if a.type == A.STRING: body = st(a.s)
    if a.type == A.INTS: body = "".join(" %d" % i for i in a.ints)
    if a.type == A.FLOATS: body = "".join(" " + G9(f) for f in a.floats)
    if a.type == A.STRINGS: body = "".join(st(s) for s in a.strings)
    if a.type == A.TENSOR: body = " " + tensor_text(a.t, base)
    if a.type == A.TENSORS: body = "".join(" " + tensor_text(t, base) for t in a.tensors)
    if a.type == A.SPARSE_TENSOR: body = " " + sparse_text(a.sparse_tensor, base)
    if a.type == A.TYPE_PROTO: body = " " + type_text(a.tp)
    out.append("%*s%s kind=%d%s" % (ind, "", a.name, kind, body))
    for g in ([a.g] if a.type == A.GRAPH else a.graphs):
        graph_lines(g, base, ind + 2, out)


def constant_text(n, base):
    a = n.attribute[0]
    if a.ref_attr_name: return None
    if a.name == "value": return tensor_text(a.t, base)
    if a.name == "sparse_value": return sparse_text(a.sparse_tensor, base)
    if a.name == "value_int": return "i64[] crc=%08x" % zlib.crc32(struct.pack("<q", a.i))
    if a.name == "value_ints":
        packed = struct.pack("<%dq" % len(a.ints), *a.ints)
        return "i64[%d] crc=%08x" % (len(a.ints), zlib.crc32(packed))
    if a.name == "value_float": return "f32[] crc=%08x" % zlib.crc32(struct.pack("<f", a.f))
    if a.name == "value_floats":
        packed = struct.pack("<%df" % len(a.floats), *a.floats)
        return "f32[%d] crc=%08x" % (len(a.floats), zlib.crc32(packed))
    if a.name == "value_string": return "string[] crc=%08x" % strings_crc([a.s])
    if a.name == "value_strings":
        return "string[%d] crc=%08x" % (len(a.strings), strings_crc(a.strings))


dom = lambda d: "" if d == "ai.onnx" else d


def node_lines(nodes, base, ind, out, consts):
    lines = []
    for n in nodes:
        if n.op_type == "Constant" and dom(n.domain) == "":
            text = constant_text(n, base)
            if text is not None:
                consts[n.output[0]] = text
                continue
        lines.append("%*snode %s::%s '%s' overload='%s' (%s) -> (%s)" % (
            ind, "", dom(n.domain), n.op_type, n.name, n.overload,
                     "".join("'%s'," % i for i in n.input), "".join("'%s'," % o for o in n.output)))
        for a in sorted(n.attribute, key=lambda a: a.name.encode()):
            attr_lines(a, base, ind + 2, lines)
    return lines


def graph_lines(g, base, ind, out):
    consts = {t.name: tensor_text(t, base) for t in g.initializer}
    consts.update({s.values.name: sparse_text(s, base) for s in g.sparse_initializer})
    nodes = node_lines(g.node, base, ind, out, consts)
    inputs = {i.name: type_text(i.type) for i in g.input if i.name not in consts}
    outs = set(o.name for o in g.output)
    values = {v.name: type_text(v.type) for v in g.value_info if v.name and
              v.name not in consts and v.name not in inputs and v.name not in outs}
    out.append("%*sgraph" % (ind, ""))
    out += ["%*sinput '%s' %s" % (ind, "", k, v) for k, v in inputs.items()]
    key = lambda kv: kv[0].encode()
    out += ["%*sconst '%s' %s" % (ind, "", k, v) for k, v in sorted(consts.items(), key=key)]
    out += nodes
    out += ["%*svalue '%s' %s" % (ind, "", k, v)
            for k, v in sorted(values.items(), key=key) if v != "?[...]"]
    otypes = {}
    for o in g.output:
        otypes[o.name] = type_text(o.type)
    for o in g.output:
        text = consts.get(o.name) or inputs.get(o.name) or otypes[o.name]
        out.append("%*soutput '%s' %s" % (ind, "", o.name, text))


def opset_lines(imports, out):
    d = {}
    for o in imports:
        d[dom(o.domain)] = o.version
    out += ["opset '%s' %d" % x for x in d.items()]


def model_lines(m, base):
    out = []
    opset_lines(m.opset_import, out)
    meta = [("name", m.graph.name), ("producer", m.producer_name), ("producer_version",
                                        m.producer_version),
            ("domain", m.domain), ("doc", m.doc_string)]
    meta = [x for x in meta if x[1]]
    if m.model_version: meta.append(("model_version", str(m.model_version)))
    if m.ir_version: meta.append(("ir_version", str(m.ir_version)))
    have = set(k for k, _ in meta)
    meta += [(p.key, p.value) for p in m.metadata_props if p.key not in have and p.value]
    out += ["meta '%s' %d %08x" % (k, len(v.encode()), zlib.crc32(v.encode())) for k, v in meta]
    for f in m.functions:
        attributes = "".join(" " + a for a in f.attribute)
        out.append("function %s::%s '%s'%s" % (dom(f.domain), f.name, f.overload, attributes))
        for a in f.attribute_proto:
            attr_lines(a, base, 2, out)
        opset_lines(f.opset_import, out)
        consts = {}
        nodes = node_lines(f.node, base, 0, out, consts)
        out.append("graph")
        out += ["input '%s' ?[...]" % i for i in f.input]
        out += ["const '%s' %s" % x for x in sorted(consts.items(), key=lambda kv: kv[0].encode())]
        out += nodes
        out += ["output '%s' %s" % (o, consts.get(o, "?[...]")) for o in f.output]
    graph_lines(m.graph, base, 0, out)
    return out


class Dump:
    def __init__(self, exe, out_path=None):
        self.p = subprocess.Popen([exe] + (["-w", out_path] if out_path else []),
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def lines(self, path):
        self.p.stdin.write(path.encode() + b"\n")
        self.p.stdin.flush()
        out = []
        while True:
            line = self.p.stdout.readline().decode("utf-8", "replace").rstrip("\n")
            if line.startswith("status ") or not self.p.poll() is None:
                return out, line
            out.append(line)


def models(args):
    for a in args:
        if os.path.isfile(a): yield a
        for d, _, files in sorted(os.walk(a)):
            for f in sorted(files):
                if f.endswith(".onnx"): yield os.path.join(d, f)


def first_difference(ours, theirs):
    for i in range(max(len(ours), len(theirs))):
        a, b = (x[i] if i < len(x) else "(end)" for x in (ours, theirs))
        if a != b: return "tenon: %s\n    onnx:  %s" % (a[:300], b[:300])
    return None


def main():
    args = sys.argv[1:]
    write = "-w" in args
    args = [a for a in args if a != "-w"]
    tmp = tempfile.mkdtemp()
    out_path = os.path.join(tmp, "model.onnx")
    dump, again = Dump(args[0], out_path if write else None), Dump(args[0])
    n = bad = 0
    for path in models(args[1:]):
        n += 1
        m = onnx.load(path, load_external_data=False)
        ours, status = dump.lines(path)
        try:
            theirs = model_lines(m, os.path.dirname(path))
        except Exception as e:
            theirs = ["python: %r" % e]
        diff = status if status != "status 0" else first_difference(ours, theirs)
        if diff == status: diff += " " + " ".join(ours[-2:])[:400]
        if not diff and write: diff = check_written(out_path, path, ours, again)
        if diff:
            bad += 1
            print("%s\n    %s" % (path, diff))
    print("%d models, %d differ" % (n, bad))
    return bad != 0


def essence(lines):
    """What a written file keeps: constants that something reads, types of values that nodes
    give."""
    read, given = set(), set()
    for line in lines:
        word = line.split(maxsplit=1)
        if word and word[0] == "node":
            head, outs = line.rsplit(") -> (", 1)
            read.update(head[head.index(" ("):][2:].split(","))
            given.update(outs[:-1].split(","))
        elif word and word[0] == "output":
            read.add(word[1][:word[1].index("' ") + 1])
    keep = []
    for line in lines:
        word = line.split(maxsplit=1)
        name = word[1][:word[1].find("' ") + 1] if len(word) > 1 else ""
        if word[0] == "const" and name not in read or word[0] == "value" and name not in given:
            continue
        if word[0] == "opset" or word[0] == "meta" and name in ("'ir_version'", "'name'"): continue
        keep.append(line)
    return sorted(keep)  # nodes are written in topological order


def check_written(out_path, path, ours, again):
    ours2, status = again.lines(out_path)
    diff = first_difference(essence(ours2), essence(ours))
    if diff: return "written and read again: " + diff
    m = onnx.load(out_path)
    diff = first_difference(essence(ours2), essence(model_lines(m, os.path.dirname(path))))
    if diff: return "written, read by onnx: " + diff
    try:
        onnx.checker.check_model(onnx.load(path), full_check=False)
    except Exception:
        return None  # the original is not valid either
    try:
        onnx.checker.check_model(m, full_check=False)
    except Exception as e:
        return "onnx.checker: %s" % str(e)[:400]
    return None


if __name__ == "__main__":
    sys.exit(main())
