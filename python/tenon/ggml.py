"""ggml: operators of Tenon and its plug-ins as nodes of its graphs, for programs in C."""

import os


def library():
    """The path of the library; adapters/ggml/node.c says what its functions do."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "tenon_ggml.so")
