"""ONNX Runtime: Tenon as one of its execution providers, for programs that stay with its API."""

import os

NAME = "TenonExecutionProvider"


def library():
    """The path of the provider's library, for register_execution_provider_library."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "tenon_onnxruntime.so")


def devices():
    """The devices of the provider, which is registered with onnxruntime if it is not yet.

    options = onnxruntime.SessionOptions()
    options.add_provider_for_devices(tenon.onnxruntime.devices(), {"threads": "2"})
    session = onnxruntime.InferenceSession("model.onnx", options)
    """
    import onnxruntime

    def found():
        return [d for d in onnxruntime.get_ep_devices() if d.ep_name == NAME]

    if not found():
        onnxruntime.register_execution_provider_library("tenon", library())
    return found()[:1]
