"""Runtimes: what models share."""

import os
import weakref
from collections.abc import Iterable

from . import _tenon

_NO_BUILTINS, _NO_DISCOVERY = 1, 2
_all = weakref.WeakSet()
_shared = weakref.WeakValueDictionary()


class Runtime(_tenon.Runtime):
    """Operators, kernels, plug-ins and threads, which models share.

    threads: how many compute; 0: as many as there are cores.
    plugins: paths of plug-ins to load, and operators made with tenon.op().
    pins: "Conv=acme_conv": this kernel or an error; "Conv!=acme_*": any but these.
    discover: also load the plug-ins that are installed, and those in TENON_PLUGIN_PATH.
    """

    def __init__(self, *, threads=0, plugins=(), pins=(), discover=True):
        pins = [path_of(pin, "pins", "a str") for pin in _list(pins, "pins")]
        self.settings = {"threads": threads, "pins": pins, "plugins": []}
        super().__init__(threads=threads, pins=pins, flags=0 if discover else _NO_DISCOVERY)
        for plugin in _list(plugins, "plugins"):
            self.add(plugin)
        _all.add(self)

    def add(self, plugin):
        """A plug-in: the path of its file, or an operator made with tenon.op()."""
        if hasattr(plugin, "add_to"):
            plugin.add_to(self)
        else:
            self.load_plugin(plugin)
        self.settings["plugins"].append(plugin)

    def load(self, model, **options):
        """As tenon.load(), in this runtime."""
        from ._model import load

        return load(model, runtime=self, **options)

    @property
    def ops(self):
        """All operators, to be called: runtime.ops.acme.Foo(x, alpha=2)."""
        from ._ops import Ops

        return Ops(lambda: self)

    def __repr__(self):
        used = [p["name"] for p in self.plugins() if not p["refused"] and p["path"]]
        return (
            f"<tenon.Runtime, {len(self._ops())} operators, plug-ins: {', '.join(used) or 'none'}>"
        )


def path_of(value, what, kind="a path"):
    """As os.fspath(); the error says which argument it is."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(f"{what}: must be {kind}, not {value!r}")
    return os.fspath(value)


def _list(names, what):
    """A list, also if it is one alone."""
    if isinstance(names, (str, bytes, os.PathLike)) or hasattr(names, "add_to"):
        return [names]
    if not isinstance(names, Iterable):
        raise TypeError(f"{what}: must be a list, not {names!r}")
    return list(names)


def shared(threads=0, plugins=(), pins=()):
    """The runtime with these settings: the one there is, as long as somebody uses it."""
    plugins = [
        p if hasattr(p, "add_to") else os.path.realpath(path_of(p, "plugins"))
        for p in _list(plugins, "plugins")
    ]
    plugins = list(dict.fromkeys(plugins))  # one that is named twice is meant once
    # not by the operators, which would stay with their key: the runtime keeps them
    named = tuple(id(p) if hasattr(p, "add_to") else p for p in plugins)
    pins = tuple(path_of(pin, "pins", "a str") for pin in _list(pins, "pins"))
    key = (threads, named, pins)
    runtime = _shared.get(key)
    if runtime is None:
        runtime = _shared.setdefault(key, Runtime(threads=threads, plugins=plugins, pins=pins))
    return runtime


def _after_fork():
    for runtime in list(_all):
        runtime._forked()


os.register_at_fork(after_in_child=_after_fork)
