"""Operators written in Python, for prototypes."""

import itertools
import re

from ._ops import Schema

_number = itertools.count()
_CODES = {"int": "i", "bool": "b", "float": "d", "str": "s"}
_LISTS = {"int": "I", "bool": "I", "float": "D", "str": "S"}


class CustomOp:
    """A function that is an operator: called as before, and added to runtimes.

    tenon.load(path, plugins=[op]), tenon.Runtime(plugins=[op]), runtime.add(op).
    """

    def __init__(self, text):
        if not isinstance(text, str):
            raise TypeError(f"op: the schema must be a str, not {text!r}")
        match = re.fullmatch(r"\s*([\w.]+)::(\w+)\s*(\(.*)", text, re.S)
        if not match:
            raise ValueError(f"op: {text!r} is not written like 'acme::Foo(Tensor x) -> Tensor'")
        self.function = None
        self.domain, self.name, self.schema = match.groups()
        schema = Schema(self.schema)
        if schema.has_output_list or schema.has_optional_outputs:
            raise ValueError(
                f"op: {self.name}: outputs that are lists or optional are not supported"
            )
        self.n_outputs = schema.n_outputs
        self._tensors = [a for a in schema.arguments if a.is_tensor]
        if any(a.is_list for a in self._tensors) or any(a.is_graph for a in schema.arguments):
            raise ValueError(f"op: {self.name}: lists of tensors and graphs are not supported")
        if any(a not in schema.positional for a in self._tensors):
            raise ValueError(f"op: {self.name}: tensors behind '*' are not supported")
        self._attributes = [a for a in schema.arguments if not a.is_tensor]
        self._codes = "".join(self._code(a) for a in self._attributes)

    def _code(self, argument):
        base = re.match(r"\w+", argument.type).group()
        code = (_LISTS if argument.is_list else _CODES).get(base)
        if code is None:
            raise ValueError(
                f"op: {self.name}: attributes of type {argument.type} are not supported"
            )
        return ("?" if argument.type.endswith("?") else "") + code

    def __call__(self, *args, **named):
        return self.function(*args, **named)

    def _run(self, inputs, attributes):
        """What the kernel calls."""
        inputs += [None] * (len(self._tensors) - len(inputs))
        named = {a.name: v for a, v in zip(self._attributes, attributes)}
        result = self.function(*inputs, **named)
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        if len(results) != self.n_outputs:
            raise ValueError(
                f"the function answers {len(results)} values, the schema says {self.n_outputs}"
            )
        return results

    def add_to(self, runtime):
        """Adds it to a runtime; runtime.add(op) is the same."""
        plugin = f"python-{self.domain}-{self.name}-{next(_number)}"
        full = f"{self.domain}::{self.name}"
        runtime._add_op(plugin, self.domain, self.name, self.schema, full, self._codes, self._run)

    def __repr__(self):
        return f"<tenon.op {self.domain}::{self.name}{self.schema}>"


def op(schema):
    """Makes a function an operator: @tenon.op("acme::Foo(Tensor x, *, float alpha=1) -> Tensor").

    The function gets arrays, and attributes by name; it answers an array, or a tuple of them.
    """
    made = CustomOp(schema)

    def take(function):
        if not callable(function):
            raise TypeError(f"op: {made.name}: {function!r} is no function")
        made.function, made.__doc__ = function, function.__doc__
        return made

    return take
