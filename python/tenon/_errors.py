"""Exceptions. Each carries the whole diagnosis: all problems that were found, a line each."""


class Error(RuntimeError):
    """What Tenon refuses or fails at. `status` names the kind, as `TN_ERR_SHAPE`."""

    status = "TN_ERR_INTERNAL"


class InvalidError(Error, ValueError):
    """An argument or a file breaks a rule."""


class ShapeError(Error, ValueError):
    """Shapes or element types do not fit together."""


class UnsupportedError(Error, NotImplementedError):
    """Well-formed, but there is no operator, kernel, version or type for it."""


class NotFoundError(Error, FileNotFoundError):
    """A file or a name does not exist."""


class OutOfMemoryError(Error, MemoryError):
    """Memory could not be had."""


class CancelledError(Error):
    """Another thread asked the run to stop."""


_CLASSES = {
    -2: InvalidError,
    -3: OutOfMemoryError,
    -4: UnsupportedError,
    -5: NotFoundError,
    -7: ShapeError,
    -8: InvalidError,
    -9: UnsupportedError,
    -12: CancelledError,
}


def make(status, name, text):
    """An exception for a status of the library; the module _tenon raises it."""
    error = _CLASSES.get(status, Error)(text)
    error.status = name.split(":")[0]
    return error
