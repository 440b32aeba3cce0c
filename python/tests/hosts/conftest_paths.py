"""Where the data of the tests are."""

import pathlib

SOURCE = pathlib.Path(__file__).resolve().parents[3]
DATA = SOURCE / "tests" / "data"
MODELS = SOURCE.parent / "shared" / "testdata" / "onnx-models"
