"""The build backend: scikit-build-core's, but that a source distribution carries the whole project.

A wheel is built with the CMakeLists.txt one folder up, which a source distribution does not have;
so what git tracks (sdist_files.py) is copied into `source` first, and taken away again.
"""

import pathlib
import shutil

import sdist_files
from scikit_build_core.build import *  # noqa: F401,F403
from scikit_build_core import build as _build

_HERE = pathlib.Path(__file__).resolve().parent.parent
_SOURCE = _HERE / "source"


def build_sdist(sdist_directory, config_settings=None):
    try:
        sdist_files.copy(_HERE.parent, _SOURCE)
        return _build.build_sdist(sdist_directory, config_settings)
    finally:
        shutil.rmtree(_SOURCE, ignore_errors=True)
