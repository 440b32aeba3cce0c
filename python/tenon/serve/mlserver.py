"""Tenon in MLServer: a model class for model-settings.json.

{"name": "digits", "implementation": "tenon.serve.mlserver.TenonModel",
 "parameters": {"uri": "./model.onnx", "extra": {"threads": 1}}}

extra: the options of tenon.serve.open_model.
"""

import asyncio

import numpy as np
from mlserver import MLModel, types
from mlserver.codecs import NumpyCodec
from mlserver.errors import InferenceError
from mlserver.utils import get_model_uri

from . import REFUSALS, choose, describe, open_model, take


def _array(tensor):
    if tensor.datatype != "BYTES":
        return NumpyCodec.decode_input(tensor)
    data = getattr(tensor.data, "root", tensor.data)
    data = [data] if isinstance(data, (str, bytes)) else list(data)
    texts = [text.decode() if isinstance(text, bytes) else text for text in data]
    return np.array(texts, dtype=object).reshape(tensor.shape)


def _tensor(name, value):
    if value.dtype.kind not in "OSU":
        return NumpyCodec.encode_output(name, value)
    return types.ResponseOutput(
        name=name, shape=list(value.shape), datatype="BYTES", data=[str(text) for text in value.flat]
    )


def _metadata(values):
    return [types.MetadataTensor(name=n, datatype=t, shape=s) for n, t, s in describe(values)]


class TenonModel(MLModel):
    """A model of any format that Tenon reads. Requests run at once, in threads."""

    async def load(self) -> bool:
        extra = (self.settings.parameters and self.settings.parameters.extra) or {}
        self._model = open_model(await get_model_uri(self._settings), **extra)
        self.inputs, self.outputs = _metadata(self._model.inputs), _metadata(self._model.outputs)
        return True

    async def unload(self) -> bool:
        self._model = None
        return True

    def _answer(self, request):
        try:
            outputs = self._model.run(take(request.inputs, _array))
            wanted = [output.name for output in request.outputs or ()]
            return [_tensor(name, value) for name, value in choose(outputs, wanted)]
        except REFUSALS as e:
            raise InferenceError(str(e.args[0] if e.args else e)) from e

    async def predict(self, payload: types.InferenceRequest) -> types.InferenceResponse:
        outputs = await asyncio.to_thread(self._answer, payload)
        return types.InferenceResponse(
            id=payload.id, model_name=self.name, model_version=self.version, outputs=outputs
        )
