"""ONNX Runtime's Python interface, as far as it has a meaning here: scripts run after one changed
import, `import tenon as onnxruntime`.

What has none is refused by its name: an option that is silently left out would be found only when
something else goes wrong. Hints that change no result (logging, arenas) are taken and do nothing.
"""

import enum
import itertools
import os
import tempfile
import threading
import warnings

import numpy as np

from . import _tenon
from ._errors import InvalidError, UnsupportedError
from ._model import load
from ._plan import Profile
from ._runtime import Runtime, path_of

_PROVIDER = "CPUExecutionProvider"


class GraphOptimizationLevel(enum.IntEnum):
    """ORT_DISABLE_ALL: every node runs as it stands; all others: optimised."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Tenon runs nodes in order, each on all threads."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class _Options:
    """Attributes of a closed list; names that are not in it are refused."""

    _taken = {}
    _hints = {}

    def __init__(self):
        for name, value in {**self._taken, **self._hints}.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name, value):
        if name not in self._taken and name not in self._hints:
            raise AttributeError(f"{type(self).__name__}.{name}: has no meaning in Tenon")
        object.__setattr__(self, name, value)


_CONFIG_HINTS = (
    "session.intra_op.allow_spinning",
    "session.inter_op.allow_spinning",
    "session.force_spinning_stop",
    "session.use_env_allocators",
)


class SessionOptions(_Options):
    """intra_op_num_threads, graph_optimization_level, enable_profiling and register_custom_ops_library
    do what they do in ONNX Runtime."""

    _taken = {
        "intra_op_num_threads": 0,
        "inter_op_num_threads": 0,
        "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL,
        "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
        "enable_profiling": False,
        "profile_file_prefix": "tenon_profile_",
    }
    _hints = {
        "log_severity_level": 2,
        "log_verbosity_level": 0,
        "logid": "",
        "enable_cpu_mem_arena": True,
        "enable_mem_pattern": True,
        "enable_mem_reuse": True,
        "use_deterministic_compute": True,
    }

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "_plugins", [])
        object.__setattr__(self, "_libraries", [])
        object.__setattr__(self, "_config", {})

    def register_custom_ops_library(self, path):
        """A library of custom operators for ONNX Runtime, or a plug-in of Tenon."""
        path = os.path.abspath(os.fsdecode(path_of(path, "register_custom_ops_library")))
        if _is_for_onnxruntime(path):
            self._libraries.append(path)
        else:
            self._plugins.append(path)

    def add_session_config_entry(self, key, value):
        """How threads wait and where memory comes from is Tenon's; what else would be expected is refused."""
        if key not in _CONFIG_HINTS:
            raise UnsupportedError(
                f"SessionOptions.add_session_config_entry: {key!r} has no meaning in Tenon"
            )
        self._config[key] = str(value)

    def get_session_config_entry(self, key):
        if key not in self._config:
            raise InvalidError(f"SessionOptions.get_session_config_entry: {key!r} was not added")
        return self._config[key]

    def add_free_dimension_override_by_name(self, name, value):
        """Tenon plans for the shapes that come."""
        raise UnsupportedError(
            f"SessionOptions.add_free_dimension_override_by_name: {name!r}: dims are fixed by the inputs of a run"
        )

    def _check(self):
        if self.graph_optimization_level not in list(GraphOptimizationLevel):
            raise InvalidError(
                f"SessionOptions.graph_optimization_level: {self.graph_optimization_level!r} is none of "
                "GraphOptimizationLevel"
            )
        if self.execution_mode == ExecutionMode.ORT_PARALLEL:
            raise UnsupportedError(
                "SessionOptions.execution_mode: ORT_PARALLEL: nodes run in order in Tenon"
            )
        if self.inter_op_num_threads not in (0, 1):
            raise UnsupportedError(
                "SessionOptions.inter_op_num_threads: nodes run in order in Tenon"
            )


# ---- libraries of custom operators ----

_VARIABLE = "TENON_ORT_CUSTOM_OPS"
_variable_lock = threading.Lock()


def _is_for_onnxruntime(path):
    """By the names in it of functions; what is neither, or not there, is refused as a plug-in."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return False
    return b"RegisterCustomOps\0" in content and b"\0tn_plugin_query\0" not in content


def _runtime_with(libraries, threads, plugins):
    """The plug-in ort_custom_ops opens what the variable names whenever a runtime finds it."""
    with _variable_lock:
        before = os.environ.get(_VARIABLE)
        for path in libraries:
            if ":" in path:
                raise UnsupportedError(f"{path}: paths of libraries may have no ':'")
        os.environ[_VARIABLE] = ":".join([before, *libraries] if before else libraries)
        try:
            runtime = Runtime(threads=threads, plugins=plugins)
        finally:
            if before is None:
                del os.environ[_VARIABLE]
            else:
                os.environ[_VARIABLE] = before
    adapter = [p for p in runtime.plugins() if "ort_custom_ops" in (p["name"] or p["path"] or "")]
    if not adapter:
        raise UnsupportedError(
            f"{libraries[0]}: is for ONNX Runtime, which takes the plug-in ort_custom_ops; it is not among those that are "
            "installed or that TENON_PLUGIN_PATH names"
        )
    if all(p["refused"] for p in adapter):
        raise InvalidError(adapter[0]["refused"])
    return runtime


class RunOptions(_Options):
    """Hints only."""

    _hints = {"log_severity_level": 2, "log_verbosity_level": 0, "logid": ""}

    def add_run_config_entry(self, key, value):
        """None has a meaning here."""
        raise UnsupportedError(f"RunOptions.add_run_config_entry: {key!r} has no meaning in Tenon")


# ---- what a model takes and answers ----

_ONNX_TYPES = {
    "f32": "float", "f64": "double", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "bool": "bool", "string": "string", "c64": "complex64", "c128": "complex128", "i4": "int4",
    "u4": "uint4", "f8e4m3fn": "float8e4m3fn", "f8e4m3fnuz": "float8e4m3fnuz", "f8e5m2": "float8e5m2",
    "f8e5m2fnuz": "float8e5m2fnuz",
}  # fmt: skip


# The numbers of ONNX's TensorProto, which stand for element types where NumPy's do.
_ONNX_NUMBERS = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "object",
    9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128",
}  # fmt: skip


def _element_type(element_type):
    if isinstance(element_type, int) and not isinstance(element_type, bool):
        if element_type not in _ONNX_NUMBERS:
            raise UnsupportedError(f"element_type: {element_type} of ONNX is no type of NumPy")
        element_type = _ONNX_NUMBERS[element_type]
    return np.dtype(element_type)


def _onnx_type(value):
    text = f"tensor({_ONNX_TYPES.get(value.dtype, value.dtype)})"
    for kind, key in reversed(value.kinds):
        if kind == "map":
            text = f"map({_ONNX_TYPES.get(key, key)},{text})"
        else:
            text = f"{'seq' if kind == 'sequence' else kind}({text})"
    return text


class NodeArg:
    """An input or output: name, type as "tensor(float)", shape as a list."""

    def __init__(self, value):
        self.name = value.name
        self.type = _onnx_type(value)
        self.shape = list(value.shape or ())

    def __repr__(self):
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape})"


class ModelMetadata:
    """What the model's file says of it."""

    def __init__(self, metadata):
        rest = dict(metadata)
        self.graph_name = rest.pop("name", "")
        self.producer_name = rest.pop("producer", "")
        self.description = rest.pop("doc", "")
        self.domain = rest.pop("domain", "")
        self.graph_description = rest.pop("graph_doc", "")
        version = rest.pop("model_version", "0")
        self.version = int(version) if version.isdigit() else 0
        self.custom_metadata_map = rest


# ---- values ----


class _Memory:
    """Memory that a caller names by its address."""

    def __init__(self, address, dtype, shape):
        if not address:
            raise ValueError("buffer_ptr: is 0, the address of nothing")
        dtype = _element_type(dtype)
        if dtype.hasobject:  # NumPy would follow pointers that are none
            raise TypeError(f"elements of {dtype} cannot be bound by their address")
        self.__array_interface__ = {
            "data": (address, False), "shape": tuple(shape), "typestr": dtype.str, "version": 3,
        }  # fmt: skip


def _check_device(device, device_id=0):
    if device != "cpu":
        raise UnsupportedError(f"device {device!r}: Tenon's arrays lie on the CPU")


class OrtValue:
    """A value that a session reads or has written; on the CPU always."""

    def __init__(self, value):
        self._value = value

    @staticmethod
    def ortvalue_from_numpy(array, device_type="cpu", device_id=0):
        _check_device(device_type)
        if not isinstance(array, np.ndarray):
            raise TypeError(f"ortvalue_from_numpy: takes a NumPy array, not {type(array)}")
        return OrtValue(np.ascontiguousarray(array))

    @staticmethod
    def ortvalue_from_shape_and_type(shape, element_type, device_type="cpu", device_id=0):
        _check_device(device_type)
        return OrtValue(np.empty(tuple(shape), _element_type(element_type)))

    def numpy(self):
        return self._value

    def shape(self):
        return list(self._value.shape)

    def _type_name(self):
        """As ONNX calls it: "float"."""
        dtype = self._value.dtype
        names = {"float32": "float", "float64": "double"}
        return "string" if dtype.kind in "OSU" else names.get(dtype.name, dtype.name)

    def data_type(self):
        return f"tensor({self._type_name()})"

    def element_type(self):
        """The number of ONNX's TensorProto."""
        name = "object" if self._type_name() == "string" else self._value.dtype.name
        for number, known in _ONNX_NUMBERS.items():
            if name == known:
                return number
        raise UnsupportedError(f"OrtValue.element_type: {name} has no number here")

    def tensor_size_in_bytes(self):
        return self._value.nbytes

    def device_name(self):
        return "cpu"

    def data_ptr(self):
        return self._value.__array_interface__["data"][0]

    def has_value(self):
        return self._value is not None

    def is_tensor(self):
        return isinstance(self._value, np.ndarray)

    def is_tensor_sequence(self):
        return isinstance(self._value, list)

    def update_inplace(self, array):
        np.copyto(self._value, array, casting="no")

    def __dlpack__(self, **options):
        return self._value.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._value.__dlpack_device__()


class IOBinding:
    """Inputs and outputs that are bound to memory, for runs to come."""

    def __init__(self, session):
        self._model = session._model
        self._session = self._model.session()
        self._names = [v.name for v in self._model.outputs]
        self._wanted = []

    def bind_cpu_input(self, name, array):
        self._session.set_input(name, array)

    def bind_ortvalue_input(self, name, value):
        self._session.set_input(name, value.numpy())

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr):
        _check_device(device_type)
        self._session.set_input(name, np.asarray(_Memory(buffer_ptr, element_type, shape)))

    def bind_output(
        self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None
    ):
        _check_device(device_type)
        array = None if buffer_ptr is None else np.asarray(_Memory(buffer_ptr, element_type, shape))
        self._session.set_output(name, array)
        self._want(name)

    def bind_ortvalue_output(self, name, value):
        self._session.set_output(name, value.numpy())
        self._want(name)

    def _want(self, name):
        if name not in self._wanted:
            self._wanted.append(name)

    def clear_binding_inputs(self):
        for value in self._model.inputs:
            if value.kind == "tensor":
                self._session.set_input(value.name, None)

    def clear_binding_outputs(self):
        for name in self._names:
            self._session.set_output(name, None)
        self._wanted = []

    def synchronize_inputs(self):
        """Nothing is on its way: all memory is the CPU's."""

    def synchronize_outputs(self):
        """Nothing is on its way: all memory is the CPU's."""

    def copy_outputs_to_cpu(self):
        return [self._session.output(name) for name in self._wanted]

    def get_outputs(self):
        return [OrtValue(value) for value in self.copy_outputs_to_cpu()]


# ---- the session ----


class InferenceSession:
    """A model, used as onnxruntime.InferenceSession is."""

    def __init__(
        self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **others
    ):
        if others:
            raise TypeError(f"InferenceSession: {', '.join(others)}: has no meaning in Tenon")
        _check_providers(providers, provider_options)
        options = SessionOptions() if sess_options is None else sess_options
        if not isinstance(options, SessionOptions):
            raise TypeError(f"sess_options: must be a SessionOptions, not {options!r}")
        options._check()
        optimize = options.graph_optimization_level != GraphOptimizationLevel.ORT_DISABLE_ALL
        self._options = options
        settings = {"threads": options.intra_op_num_threads, "plugins": options._plugins}
        if options._libraries:
            settings = {"runtime": _runtime_with(options._libraries, **settings)}
        self._model = load(path_or_bytes, optimize=optimize, **settings)
        self._events = [] if options.enable_profiling else None
        self._n_profiled = itertools.count()

    @property
    def model(self):
        """The tenon.Model behind it."""
        return self._model

    def run(self, output_names, input_feed, run_options=None):
        """A list of the outputs that are named, or of all."""
        _check_run_options(run_options)
        if self._events is not None:
            return self._run_profiled(output_names, input_feed)
        return self._model._run_list(output_names or None, input_feed)

    def run_async(self, output_names, input_feed, callback, user_data, run_options=None):
        """Calls callback(outputs, user_data, error), from a thread of its own; error "": all is well."""
        thread = threading.Thread(
            target=self._run_for,
            args=(callback, user_data, output_names, input_feed, run_options),
            daemon=True,
        )
        thread.start()

    def _run_for(self, callback, user_data, *args):
        outputs, error = [], ""
        try:
            outputs = self.run(*args)
        except Exception as e:
            error = str(e) or type(e).__name__
        callback(outputs, user_data, error)

    def run_with_ort_values(self, output_names, input_dict_ort_values, run_options=None):
        feeds = {name: value.numpy() for name, value in input_dict_ort_values.items()}
        return [OrtValue(value) for value in self.run(output_names, feeds, run_options)]

    def run_with_iobinding(self, iobinding, run_options=None):
        if not isinstance(iobinding, IOBinding):
            raise TypeError(f"iobinding: must be an IOBinding, not {iobinding!r}")
        _check_run_options(run_options)
        if self._events is None:
            iobinding._session.run()
        else:
            self._profile(iobinding._session)

    def io_binding(self):
        return IOBinding(self)

    def get_inputs(self):
        return [NodeArg(v) for v in self._model.inputs if not v.has_default]

    def get_overridable_initializers(self):
        return [NodeArg(v) for v in self._model.inputs if v.has_default]

    def get_outputs(self):
        return [NodeArg(v) for v in self._model.outputs]

    def get_modelmeta(self):
        return ModelMetadata(self._model.metadata)

    def get_providers(self):
        return [_PROVIDER]

    def get_provider_options(self):
        return {_PROVIDER: {}}

    def set_providers(self, providers=None, provider_options=None):
        _check_providers(providers, provider_options)

    def get_session_options(self):
        return self._options

    def enable_fallback(self):
        """There is nothing to fall back to."""

    def disable_fallback(self):
        """There is nothing to fall back to."""

    # ---- profiling ----

    def _profile(self, session):
        session.profile(True)
        try:
            session.run()
        finally:
            run = next(self._n_profiled)
            events = [{**event, "run": run} for event in session.events()]
            session.profile(False)
        kept = self._events  # None: another thread has ended it
        if kept is not None:
            kept.extend(events)

    def _run_profiled(self, output_names, feeds):
        """As run(): what runs know of each other, and which threads run at once, is the same."""
        names = list(output_names or (v.name for v in self._model.outputs))
        unknown = [name for name in names if name not in [v.name for v in self._model.outputs]]
        if unknown:
            return self._model._run_list(names, feeds)  # which says so
        session = self._model.session()
        for name, value in feeds.items():
            session.set_input(name, value)
        self._profile(session)
        return [session.output(name) for name in names]

    def end_profiling(self):
        """Writes the profile, a Chrome trace, and answers its name."""
        events, self._events = self._events, None
        if events is None:
            return ""
        profile = Profile(events, 1)
        handle, path = tempfile.mkstemp(".json", self._options.profile_file_prefix, ".")
        os.close(handle)
        profile.save(path)
        return path


def _check_run_options(run_options):
    if run_options is not None and not isinstance(run_options, RunOptions):
        raise TypeError(f"run_options: must be a RunOptions, not {run_options!r}")


_PROVIDER_HINTS = ("use_arena", "arena_extend_strategy")


def _check_providers(providers, provider_options=None):
    if isinstance(providers, str):
        raise TypeError(f"providers: must be a list of names, not the str {providers!r}")
    if not isinstance(providers, (list, tuple, type(None))):
        raise TypeError(f"providers: must be a list of names, not {providers!r}")
    names = [p[0] if isinstance(p, tuple) and p else p for p in providers or [_PROVIDER]]
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"providers: holds {name!r}, no name")
    for name in names:
        if name != _PROVIDER:
            warnings.warn(f"{name}: is not in Tenon; models run on {_PROVIDER}", UserWarning, 3)
    options = [p[1] if isinstance(p, tuple) and len(p) > 1 else {} for p in providers or [_PROVIDER]]
    if provider_options is not None:
        if len(provider_options) != len(providers or ()):
            raise ValueError(
                f"provider_options: {len(provider_options)}, for {len(providers or ())} providers"
            )
        options += provider_options
    for name, given in zip(names * 2, options):
        if not isinstance(given, dict):
            raise TypeError(f"provider_options: must be dicts, not {given!r}")
        for option in given if name == _PROVIDER else ():
            if option not in _PROVIDER_HINTS:
                raise UnsupportedError(f"{_PROVIDER}: option {option!r} has no meaning in Tenon")
    if _PROVIDER not in names:
        raise UnsupportedError(
            f"InferenceSession: none of the providers is there: {', '.join(names)}"
        )


def get_available_providers():
    """What models run on."""
    return [_PROVIDER]


def get_all_providers():
    """What models could run on: the same."""
    return [_PROVIDER]


def set_default_logger_severity(severity):
    """Tenon writes no log."""


def set_default_logger_verbosity(verbosity):
    """Tenon writes no log."""


def get_device():
    """ "CPU" """
    return "CPU"
