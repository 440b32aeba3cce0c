"""Pages that show a model: `tenon report` of the same package, with what the model was loaded with."""

import os
import subprocess
import tempfile
import zipfile

import numpy as np

from ._errors import Error, UnsupportedError
from ._runtime import path_of


class Report:
    """A page that was written: its path. Notebooks show it in a frame."""

    def __init__(self, path):
        self.path = os.path.abspath(path)

    def __fspath__(self):
        return self.path

    def __repr__(self):
        return f"<tenon report {self.path}>"

    def _repr_html_(self):
        from html import escape

        with open(self.path, encoding="utf-8") as file:
            page = escape(file.read())
        return f'<iframe srcdoc="{page}" width="100%" height="900" style="border:0"></iframe>'


def _options(runtime, how):
    settings = runtime.settings
    options = ["--threads", str(settings["threads"])]
    for plugin in settings["plugins"]:
        if hasattr(plugin, "add_to"):
            raise UnsupportedError("report: operators written in Python run in this process only")
        options += ["--plugin", os.fspath(plugin)]
    for pin in settings["pins"]:
        options += ["--pin", pin]
    for name, key in (
        ("--model-format", "format"),
        ("--precision", "precision"),
        ("--fallback", "fallback"),
        ("--entry", "entry"),
    ):
        if how[key] is not None:
            options += [name, how[key]]
    for device in how["devices"]:
        options += ["--device", device]
    return options + (["--no-optimize"] if how["flags"] else [])


def _model_file(model, folder, work):
    if not isinstance(model, bytes):
        return os.fspath(model)
    if folder is not None:
        raise UnsupportedError("report: a model in memory that has external data cannot be shown")
    path = os.path.join(work, "model")
    with open(path, "wb") as file:
        file.write(model)
    return path


def _save(path, arrays):
    """As numpy.savez, whose own arguments take some names."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(name + ".npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array)


def write(source, inputs, path, seconds, compare):
    """Writes the page of a model that load() was told of as `source`, run on these inputs."""
    if source is None:
        raise UnsupportedError("report: the model is none that tenon.load() made")
    model, folder, runtime, how = source
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "tenon")
    with tempfile.TemporaryDirectory() as work:
        line = [command, "report", _model_file(model, folder, work), "-o", path_of(path, "path")]
        line += ["--time", str(seconds), *_options(runtime, how)]
        if inputs:
            _save(os.path.join(work, "inputs.npz"), inputs)
            line += ["--input", os.path.join(work, "inputs.npz")]
        if compare is not None:
            line += ["--compare", path_of(compare, "compare")]
        done = subprocess.run(line, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise Error(done.stderr.strip() or f"{command} ended with {done.returncode}")
    return Report(path)
