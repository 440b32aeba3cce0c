"""What a source distribution has of the project: `python3 sdist_files.py FOLDER` copies it there."""

import pathlib
import shutil
import subprocess
import sys

# What the build does not need: examples of use, measurements, the package itself.
_LEFT_OUT = ("bench/", "docs/", "examples/", "tests/", "python/tenon/", "python/tests/")
# Of these, what it needs: a manual page, the command's tests, sources of a plug-in that ships.
_NEEDED = ("docs/tenon.1", "tests/check/main.c", "examples/tflite_detection/")


def copy(project, folder):
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=project, check=True, stdout=subprocess.PIPE
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if name.startswith(_LEFT_OUT) and not name.startswith(_NEEDED):
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(project / name, folder / name)


if __name__ == "__main__":
    copy(pathlib.Path(__file__).resolve().parents[2], pathlib.Path(sys.argv[1]))
