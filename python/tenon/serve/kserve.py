"""Tenon in KServe: a model class, and a server of it.

python -m tenon.serve.kserve --model_name digits --model_path model.onnx --threads 1

More options are those of KServe's own servers, such as --http_port, --grpc_port and --workers.
"""

import argparse
import asyncio
import uuid

import kserve
import numpy as np
from kserve.errors import InvalidInput
from kserve.utils.numpy_codec import from_np_dtype

from . import REFUSALS, choose, describe, open_model, take


def _array(tensor):
    array = tensor.as_numpy()
    if tensor.datatype == "BYTES":  # from gRPC they come as bytes
        texts = [text.decode() if isinstance(text, bytes) else text for text in array.flat]
        array = array.astype(object)
        array.flat = texts
    return array


def _tensor(name, value, is_binary):
    if value.dtype == np.float16 and not is_binary:
        value = value.astype(np.float32)  # KServe has no f16 in JSON
    tensor = kserve.InferOutput(name, list(value.shape), from_np_dtype(value.dtype))
    tensor.set_data_from_numpy(value, binary_data=is_binary)
    return tensor


def _metadata(values):
    return [{"name": n, "datatype": t, "shape": s} for n, t, s in describe(values)]


class TenonModel(kserve.Model):
    """A model of any format that Tenon reads. options: of tenon.serve.open_model. Requests run at once,
    in threads."""

    def __init__(self, name, path, **options):
        super().__init__(name)
        self._path, self._options = path, options
        self.load()

    def load(self):
        self._model = open_model(self._path, **self._options)
        self.ready = True
        return self.ready

    def __reduce__(self):  # servers of several workers send it to each
        return _again, (self.name, self._path, self._options)

    def get_input_types(self):
        return _metadata(self._model.inputs)

    def get_output_types(self):
        return _metadata(self._model.outputs)

    def _answer(self, request):
        try:
            outputs = self._model.run(take(request.inputs, _array))
            wanted = [output.name for output in request.request_outputs or ()]
            return [_tensor(*output, request.use_binary_outputs) for output in choose(outputs, wanted)]
        except REFUSALS as e:
            raise InvalidInput(str(e.args[0] if e.args else e)) from e

    async def predict(self, payload, headers=None, response_headers=None):
        if not isinstance(payload, kserve.InferRequest):
            raise InvalidInput("requests have to be of version 2 of the protocol")
        return kserve.InferResponse(
            response_id=payload.id or str(uuid.uuid4()),
            model_name=self.name,
            infer_outputs=await asyncio.to_thread(self._answer, payload),
            use_binary_outputs=payload.use_binary_outputs,
            requested_outputs=payload.request_outputs,
        )


def _again(name, path, options):
    return TenonModel(name, path, **options)


def main():
    parser = argparse.ArgumentParser(parents=[kserve.model_server.parser])
    parser.add_argument("--model_path", required=True, help="the model's file")
    parser.add_argument("--threads", type=int, default=1, help="of each run; 0: all cores")
    parser.add_argument("--plugin", action="append", default=[], help="a plug-in's file")
    parser.add_argument("--weight_cache", help="a folder where workers share prepared weights")
    args, _ = parser.parse_known_args()
    options = {"threads": args.threads, "plugins": args.plugin, "weight_cache": args.weight_cache}
    model = TenonModel(args.model_name, args.model_path, **options)
    kserve.ModelServer().start([model])


if __name__ == "__main__":
    main()
