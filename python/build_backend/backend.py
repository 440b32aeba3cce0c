"""The build backend: scikit-build-core's, but that a source distribution carries the whole project.

A wheel is built with the CMakeLists.txt one folder up, which a source distribution does not have;
so what git tracks is copied into `source` first, and taken away again.
"""

import pathlib
import shutil
import subprocess

from scikit_build_core.build import *  # noqa: F401,F403
from scikit_build_core import build as _build

_HERE = pathlib.Path(__file__).resolve().parent.parent
_SOURCE = _HERE / "source"
# What the build does not need: examples of use, measurements, the package itself.
_LEFT_OUT = ("bench/", "docs/", "examples/", "tests/", "python/tenon/", "python/tests/")
_NEEDED = ("docs/tenon.1", "tests/check/main.c")


def build_sdist(sdist_directory, config_settings=None):
    files = (
        subprocess.run(
            ["git", "ls-files", "-z"], cwd=_HERE.parent, check=True, stdout=subprocess.PIPE
        )
        .stdout.decode()
        .split("\0")
    )
    try:
        for name in filter(None, files):
            if name.startswith(_LEFT_OUT) and name not in _NEEDED:
                continue
            (_SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(_HERE.parent / name, _SOURCE / name)
        return _build.build_sdist(sdist_directory, config_settings)
    finally:
        shutil.rmtree(_SOURCE, ignore_errors=True)
