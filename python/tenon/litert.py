"""LiteRT (TensorFlow Lite): Tenon as a delegate, for programs that stay with its API."""

import os

from ._runtime import _list, path_of


def library():
    """The path of the delegate's library, for load_delegate and --external_delegate_path."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "tenon_litert.so")


def delegate(threads=1, plugins=(), fallback="allow"):
    """A delegate of Tenon's for one interpreter or more.

    threads: of Tenon, the caller included; 0: as many as there are cores. plugins: paths of
    plug-ins, whose operators custom operators of a model find by their names. fallback: "forbid":
    a graph that Tenon does not take is an error.

    interpreter = Interpreter("model.tflite", experimental_delegates=[tenon.litert.delegate()])
    """
    from ai_edge_litert.interpreter import load_delegate

    paths = [os.fsdecode(path_of(p, "plugins")) for p in _list(plugins, "plugins")]
    options = {"threads": threads, "plugins": ":".join(paths)}
    return load_delegate(library(), {**options, "fallback": fallback})
