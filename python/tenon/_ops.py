"""Operators as functions: tenon.ops.Softmax(x, axis=-1), tenon.ops.acme.Foo(x, alpha=2)."""

import difflib

import numpy as np

from ._runtime import shared

_runtime = None


def default_runtime():
    """The runtime of tenon.ops: made at the first call, and kept."""
    global _runtime
    if _runtime is None:
        _runtime = shared()
    return _runtime


# ---- schemas: "(Tensor x, Tensor? b, *, float alpha=1) -> Tensor y" ----


def _split(text):
    """At commas that are in no brackets or quotes."""
    parts, depth, quote, part = [], 0, None, ""
    for c in text:
        if quote:
            quote = None if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        if c == "," and not depth and not quote:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return [p for p in [*parts, part.strip()] if p]


class Argument:
    """An argument of a schema."""

    def __init__(self, text):
        before = text.split("=")[0].split()
        self.type, self.name = " ".join(before[:-1]), before[-1]
        self.is_tensor = self.type.startswith("Tensor")
        self.is_list = self.type.rstrip("?").endswith("]")
        self.is_graph = self.type.startswith("Graph")


class Schema:
    """What an operator takes and answers."""

    def __init__(self, text):
        at, depth = text.index("("), 0
        for end in range(at, len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if not depth:
                break
        parts = _split(text[at + 1 : end])
        star = parts.index("*") if "*" in parts else len(parts)
        self.positional = [Argument(p) for p in parts[:star]]
        self.arguments = self.positional + [Argument(p) for p in parts[star + 1 :]]
        _, arrow, out = text[end + 1 :].partition("->")
        out = out.strip()
        if not arrow or not out:
            raise ValueError(f"schema {text!r}: what it answers is missing, as in '-> Tensor'")
        outs = _split(out[1:-1]) if out.startswith("(") else [out]
        self.n_outputs = sum(1 for o in outs if "?" not in o.split()[0])
        self.has_optional_outputs = self.n_outputs < len(outs)
        self.has_output_list = any("[" in o.split()[0] for o in outs)


# ---- attributes as text ----


def _text(value):
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, np.ndarray):
        return _text(value.tolist())
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_quoted(v) if isinstance(v, str) else _text(v) for v in value) + "]"
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, str):
        return _quoted(value) if any(c in value for c in "\"'") or value == "None" else value
    try:
        return np.dtype(value).name  # Cast(x, to=np.float32)
    except TypeError:
        raise TypeError(f"an attribute cannot be {value!r}") from None


def _quoted(text):
    if '"' not in text:
        return f'"{text}"'
    if "'" not in text:
        return f"'{text}'"
    raise ValueError(f"an attribute cannot have both kinds of quotes: {text!r}")


class Op:
    """One operator. Called with its tensors, in order or by name, and its attributes by name.

    n_outputs=: how many outputs are wanted; None: all that are not optional.
    version=: of its operator set; 0: the newest.
    """

    def __init__(self, get_runtime, domain, name, rows):
        self._get_runtime = get_runtime
        self.name = f"{domain}::{name}" if domain else name
        self.__name__ = name
        self._rows = sorted(rows, key=lambda row: row[2])
        self.__doc__ = f"{self.name}{self._rows[-1][3]}"

    def _row(self, version):
        rows = [r for r in self._rows if not version or r[2] <= version]
        if not rows:
            raise ValueError(
                f"{self.name}: has no version {version}; the first is {self._rows[0][2]}"
            )
        return rows[-1]

    def schema(self, version=0):
        """Its schema, as the operator's author wrote it."""
        return self._row(version)[3]

    def __call__(self, *args, n_outputs=None, version=0, **named):
        results = self._use(self._get_runtime()._run_op, args, n_outputs, version, named)
        return results[0] if len(results) == 1 else tuple(results)

    def infer(self, *args, n_outputs=None, version=0, **named):
        """(kind, dtype, shape) of each output for arguments like these, of which nothing is run."""
        return self._use(self._get_runtime()._infer_op, args, n_outputs, version, named)

    def _use(self, function, args, n_outputs, version, named):
        schema = Schema(self.schema(version))
        given = self._named(schema, args, named)
        items = []
        for argument in schema.arguments:
            if argument.name in given:
                items += self._items(argument, given[argument.name])
        if n_outputs is None:
            if schema.has_output_list:
                raise TypeError(f"{self.name}: answers a list; say how many with n_outputs=")
            n_outputs = schema.n_outputs
        return function(self.name, version, tuple(items), n_outputs)

    def _named(self, schema, args, named):
        positional = schema.positional
        if (
            len(args) == 1
            and len(positional)
            and positional[0].is_list
            and isinstance(args[0], np.ndarray)
        ):
            args = ([args[0]],)
        if len(args) > len(positional):
            raise TypeError(
                f"{self.name}: takes {len(positional)} arguments in order, {len(args)} "
                f"were given; it is {self.name}{self.schema()}"
            )
        given = {a.name: v for a, v in zip(positional, args)}
        known = [a.name for a in schema.arguments]
        for name, value in named.items():
            if name in given:
                raise TypeError(f"{self.name}: argument {name!r} is given twice")
            if name not in known:
                raise TypeError(
                    f"{self.name}: has no argument {name!r}; it is {self.name}{self.schema()}"
                )
            given[name] = value
        return {name: value for name, value in given.items() if value is not None}

    def _items(self, argument, value):
        if argument.is_graph:
            raise TypeError(
                f"{self.name}: argument {argument.name!r} is a graph: run it in a model"
            )
        if not argument.is_tensor:
            return [(argument.name, _text(value), True)]
        if argument.is_list:
            if not isinstance(value, (list, tuple)):
                raise TypeError(f"{self.name}: argument {argument.name!r} is a list of tensors")
            return [(argument.name, v, False) for v in value]
        return [(argument.name, value, False)]

    def __repr__(self):
        return f"<tenon operator {self.__doc__}>"


class Ops:
    """Operators of a domain, as attributes; ONNX's stand at the top, and domains below it."""

    def __init__(self, get_runtime, domain=""):
        self._get_runtime = get_runtime
        self._domain = domain

    def _rows(self):
        return self._get_runtime()._ops()

    def _names(self):
        below = self._domain + "." if self._domain else ""
        names = {name for domain, name, *_ in self._rows() if domain == self._domain}
        for domain, *_ in self._rows():
            if domain and domain.startswith(below):
                names.add(domain[len(below) :].split(".")[0])
        return names

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        rows = [r for r in self._rows() if r[0] == self._domain and r[1] == name]
        if rows:
            return Op(self._get_runtime, self._domain, name, rows)
        inner = f"{self._domain}.{name}" if self._domain else name
        if any(r[0] == inner or r[0].startswith(inner + ".") for r in self._rows()):
            return Ops(self._get_runtime, inner)
        close = difflib.get_close_matches(name, self._names(), 3)
        hint = f"; there is {', '.join(close)}" if close else ""
        raise AttributeError(f"there is no operator or domain {inner!r}{hint}")

    def __dir__(self):
        return sorted(self._names())

    def __repr__(self):
        return f"<tenon operators of {self._domain or 'ONNX'}: {len(self._names())} names>"


ops = Ops(default_runtime)
