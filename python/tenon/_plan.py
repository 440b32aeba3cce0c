"""What a plan holds, and what a profile has measured."""

import json

from ._runtime import path_of


def _time(ns):
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= factor:
            return f"{ns / factor:.3g} {unit}"
    return f"{ns:.0f} ns"


def _bytes(n):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024 or unit == "GiB":
            return f"{n:.3g} {unit}" if unit != "B" else f"{n} B"
        n /= 1024


def _type(type_):
    if type_ is None:
        return "-"
    kind, dtype, shape = type_
    dims = (
        "" if shape is None else "[" + ",".join("?" if d is None else str(d) for d in shape) + "]"
    )
    return (dtype or "?") + dims if kind == "tensor" else f"{kind} of {dtype}"


def _columns(head, rows):
    """Text in columns; the first row is the head."""
    all_rows = [head, *[tuple(str(c) for c in row) for row in rows]]
    widths = [max(len(row[k]) for row in all_rows) for k in range(len(head))]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in all_rows
    )


class Step:
    """A kernel call of a plan: node, op, kernel, plugin, device; inputs and outputs as (kind, dtype,
    shape); fused operators; refused: (kernel, reason) of each that was not taken; cost_ns, flops,
    scratch_bytes, state_bytes, stages; depth > 0: of a subgraph; leader: the step on whose ranges
    it runs, or -1."""

    def __init__(self, fields):
        refused = list(zip(fields.pop("refused"), fields.pop("reasons")))
        self.__dict__.update(fields, refused=refused)

    def __repr__(self):
        return f"<step {self.node or 'unnamed'} ({self.op}): {self.kernel}>"


class Plan:
    """A model as it runs for one set of shapes: steps, and figures of it all (`totals`)."""

    _HEAD = ("step", "node", "operator", "kernel", "fused", "output", "cost")

    def __init__(self, totals, steps):
        self.totals = totals
        self.steps = [Step(s) for s in steps]

    def _rows(self):
        for k, s in enumerate(self.steps):
            fused = (f"with {s.leader}" if s.leader >= 0 else "") + "".join(
                "+" + f for f in s.fused
            )
            out = _type(s.outputs[0]) if s.outputs else ""
            yield k, "  " * s.depth + s.node, s.op, s.kernel, fused, out, _time(s.cost_ns)

    def _summary(self):
        t = self.totals
        return (
            f"{t['n_steps']} steps, estimated cost {_time(t['cost_ns'])}; memory: activations "
            f"{_bytes(t['arena_bytes'])}, scratch {_bytes(t['scratch_bytes'])}, prepared weights "
            f"{_bytes(t['state_bytes'])}, constants {_bytes(t['const_bytes'])}"
        )

    def __len__(self):
        return len(self.steps)

    def __repr__(self):
        return _columns(self._HEAD, self._rows()) + "\n" + self._summary()

    def _repr_html_(self):
        from ._html import table

        return table(self._HEAD, self._rows(), self._summary())


class Profile:
    """Times of steps: `events` as recorded, `by_op` and `by_node` summed up, in ns for one run."""

    def __init__(self, events, runs):
        self.events = events
        self.runs = runs

    def _sum(self, key):
        sums = {}
        for e in self.events:
            n = sums.setdefault(e[key], [0, 0])
            n[0] += e["end_ns"] - e["begin_ns"]
            n[1] += 1
        rows = ((name, ns / self.runs, count // self.runs) for name, (ns, count) in sums.items())
        return sorted(rows, key=lambda row: -row[1])

    @property
    def by_op(self):
        """(operator, ns, steps), the slowest first."""
        return self._sum("op")

    @property
    def by_node(self):
        """(node, ns, steps), the slowest first."""
        return self._sum("node")

    @property
    def total_ns(self):
        """Of all steps of one run."""
        return sum(e["end_ns"] - e["begin_ns"] for e in self.events) / self.runs

    def save(self, path):
        """As a Chrome trace, for chrome://tracing or Perfetto."""
        events = [
            {
                "name": e["node"] or e["op"],
                "cat": e["op"],
                "ph": "X",
                "pid": 0,
                "tid": 0,
                "ts": e["begin_ns"] / 1e3,
                "dur": (e["end_ns"] - e["begin_ns"]) / 1e3,
                "args": {"kernel": e["kernel"], "run": e["run"], "followers": e["followers"]},
            }
            for e in self.events
        ]
        with open(path_of(path, "path"), "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events}, file)

    def _rows(self):
        total = self.total_ns or 1
        for op, ns, n in self.by_op:
            yield op, n, _time(ns), f"{100 * ns / total:.1f} %"

    def __repr__(self):
        head = ("operator", "steps", "time", "share")
        return _columns(head, self._rows()) + f"\n{_time(self.total_ns)} in all steps of one run"

    def _repr_html_(self):
        from ._html import table

        return table(("operator", "steps", "time", "share"), self._rows())
