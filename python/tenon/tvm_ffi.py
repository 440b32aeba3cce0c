"""tvm-ffi: operators of Tenon and its plug-ins as functions for tensors of PyTorch, JAX, CuPy ..."""

import os


def library():
    """The path of the library, for tvm_ffi.load_module: run and load_plugin."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "tenon_tvm_ffi.so")


def module():
    """The library as a module of tvm-ffi.

    module().run("com.microsoft::QuickGelu", "alpha=2.0", 1, x, y) writes to y.
    """
    import tvm_ffi

    return tvm_ffi.load_module(library())
