"""ONNX's own tests of backends: nodes, and small models. Some minutes."""

import pytest

pytest.importorskip("onnx")
pytest.importorskip("ml_dtypes")
onnx_test = pytest.importorskip("onnx.backend.test")

from tenon import onnx_backend  # noqa: E402

# name, why it is left out
LEFT_OUT = [
    (r"_cuda$", "there is no such device"),
    (r"^test_(resnet50|vgg19|densenet121|inception_v[12]|bvlc_alexnet|shufflenet|squeezenet|zfnet512)_", "downloads"),
    (r"^test_(adagrad|adam|gradient_of|momentum|nesterov_momentum)", "training"),
    (r"^test_(bernoulli|training_dropout(_default)?(_mask)?_cpu$)", "random: the expected numbers are those of NumPy's generator"),
    (r"^test_dft_inverse(_opset19)?_cpu$", "the expected numbers are NumPy's rounding errors around 0"),
    (r"^test_loop16_seq_none", "ONNX's comparison does not know what an optional holds"),
    (r"^test_flexattention_(causal_mask|prob_mod|relative_positional|score_mod|soft_cap)_cpu$", "FlexAttention: no score_mod, prob_mod"),
    (r"^test_image_decoder_decode_(jpeg|jpeg2k|tiff|webp)", "ImageDecoder: the plug-in decodes these otherwise or not"),
]  # fmt: skip


class Backend(onnx_backend.TenonBackend):
    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        return True  # a model that cannot be loaded fails, and is not skipped


suite = onnx_test.BackendTest(Backend, __name__)
suite.include("^test_")
for name, _ in LEFT_OUT:
    suite.exclude(name)
globals().update(suite.test_cases)
