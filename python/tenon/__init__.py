"""Tenon, an inference runtime: load a model, call it with arrays.

import tenon
model = tenon.load("model.onnx")
y = model(x)
"""

from . import _tenon

_tenon.check_interpreter()  # before NumPy says it in its words

from ._tenon import Session, __version__, from_dlpack
from ._custom import CustomOp, op
from ._errors import (
    CancelledError,
    Error,
    InvalidError,
    NotFoundError,
    OutOfMemoryError,
    ShapeError,
    UnsupportedError,
)
from ._model import DeviceArray, Model, Value, load
from ._onnxruntime import (
    ExecutionMode,
    GraphOptimizationLevel,
    InferenceSession,
    IOBinding,
    ModelMetadata,
    NodeArg,
    OrtValue,
    RunOptions,
    SessionOptions,
    get_all_providers,
    get_available_providers,
    get_device,
    set_default_logger_severity,
    set_default_logger_verbosity,
)
from ._ops import ops
from ._plan import Plan, Profile, Step
from ._report import Report
from ._runtime import Runtime

__all__ = [
    "CustomOp",
    "CancelledError",
    "DeviceArray",
    "Error",
    "ExecutionMode",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "InvalidError",
    "Model",
    "ModelMetadata",
    "NodeArg",
    "NotFoundError",
    "OrtValue",
    "OutOfMemoryError",
    "Plan",
    "Profile",
    "RunOptions",
    "Report",
    "Runtime",
    "Session",
    "SessionOptions",
    "ShapeError",
    "Step",
    "UnsupportedError",
    "Value",
    "from_dlpack",
    "get_all_providers",
    "get_available_providers",
    "get_device",
    "load",
    "op",
    "ops",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
]
