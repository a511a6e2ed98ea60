"""The calls of the interfaces: requests in, responses out, counted, logged and timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.protos import Code
from stillflow.serve import signatures, tensors
from stillflow.serve.batching import Batcher
from stillflow.serve.messages import (
    ClassificationRequest,
    ClassificationResponse,
    GetModelMetadataResponse,
    GetModelStatusResponse,
    ModelSpec,
    MultiInferenceResponse,
    PredictRequest,
    PredictResponse,
    RegressionRequest,
    RegressionResponse,
    SignatureDefMap,
)
from stillflow.serve.metrics import Metrics
from stillflow.serve.models import Models
from stillflow.serve.request_log import RequestLogs
from stillflow.serve.servable import CLASSIFY, DEFAULT_SIGNATURE, REGRESS, Servable

Array = np.ndarray[Any, Any]


class Inference:
    """The calls that clients can make.

    Args:
      models: the models.
      batcher: the scheduler of batches, or None.
      metrics: counts requests.
      logs: of requests; None: none.
      checks_method: whether the method of a signature has to be the call's.
    """

    def __init__(
        self, models: Models, batcher: Batcher | None, metrics: Metrics,
        logs: RequestLogs | None = None, checks_method: bool = False,
    ) -> None:  # fmt: skip
        self.models, self.metrics = models, metrics
        self._batcher, self._logs, self._checks_method = batcher, logs, checks_method

    @contextmanager
    def observed(self, model: str, api: str, entrypoint: str) -> Iterator[None]:
        """Count a request and its time."""
        started = time.perf_counter()
        status = "INTERNAL"
        try:
            yield
            status = "OK"
        except errors.OpError as error:
            status = Code.Name(error.error_code)
            raise
        finally:
            # A name that no model has would let clients make as many cells as they like.
            name = model if self.models.has(model) else ""
            self.metrics.requests.add(name, status)
            if status == "OK":
                micros = (time.perf_counter() - started) * 1e6
                self.metrics.request_latency.add(micros, model, api, entrypoint)

    def run(
        self, servable: Servable, feeds: Mapping[str, Array], fetches: Mapping[str, str], api: str,
        signature: str, deadline: float | None,
    ) -> dict[str, Array]:  # fmt: skip
        """Run a signature.

        Args:
          servable: the model.
          feeds: arrays by tensors.
          fetches: tensors by the names of outputs.
          api: name of the call, for metrics.
          signature: its key.
          deadline: by `time.monotonic`, or None.

        Returns:
          The outputs by name.
        """
        if deadline is not None and time.monotonic() > deadline:
            raise errors.deadline_exceeded("Deadline exceeded before the run")
        started = time.perf_counter()
        names = list(fetches.values())
        if self._batcher is None:
            found = servable.run(feeds, names)
        else:
            found = self._batcher.run(servable, feeds, names, deadline)
        micros = (time.perf_counter() - started) * 1e6
        self.metrics.runtime_latency.add(micros, servable.name, api, "TF1")
        self.metrics.signature_requests.add(
            servable.name, str(servable.version), signature or DEFAULT_SIGNATURE, api
        )
        return dict(zip(fetches, found, strict=True))

    def predict_arrays(
        self, servable: Servable, key: str, arrays: Mapping[str, Array],
        output_filter: Sequence[str] = (), deadline: float | None = None,
    ) -> dict[str, Array]:  # fmt: skip
        """Run a signature on arrays by the names of its inputs."""
        signature = signatures.predict_signature(servable, key)
        feeds = signatures.feeds_of(signature, arrays)
        fetches = signatures.fetches_of(signature, output_filter)
        return self.run(servable, feeds, fetches, "Predict", key, deadline)

    # ---- PredictionService ---------------------------------------------------------------------

    def predict(self, request: Any, deadline: float | None = None) -> Any:
        """Answer a `PredictRequest`.

        Raises:
          OpError: if it cannot be answered.
        """
        with self.models.use(request.model_spec) as servable:
            arrays = {
                name: tensors.from_proto(name, tensor) for name, tensor in request.inputs.items()
            }
            key = request.model_spec.signature_name
            found = self.predict_arrays(servable, key, arrays, request.output_filter, deadline)
            response = PredictResponse()
            fill_spec(response.model_spec, servable, key or DEFAULT_SIGNATURE)
            for name, array in found.items():
                tensors.fill(response.outputs[name], array)
            self._log(servable, "predict_log", request, response)
        return response

    def classify(self, request: Any, deadline: float | None = None) -> Any:
        """Answer a `ClassificationRequest`.

        Raises:
          OpError: if it cannot be answered.
        """
        with self.models.use(request.model_spec) as servable:
            response = ClassificationResponse()
            self._classify(servable, request, response.result, deadline)
            fill_spec(response.model_spec, servable, request.model_spec.signature_name)
            self._log(servable, "classify_log", request, response)
        return response

    def regress(self, request: Any, deadline: float | None = None) -> Any:
        """Answer a `RegressionRequest`.

        Raises:
          OpError: if it cannot be answered.
        """
        with self.models.use(request.model_spec) as servable:
            response = RegressionResponse()
            self._regress(servable, request, response.result, deadline)
            fill_spec(response.model_spec, servable, request.model_spec.signature_name)
            self._log(servable, "regress_log", request, response)
        return response

    def _classify(
        self, servable: Servable, request: Any, result: Any, deadline: float | None
    ) -> None:
        outputs, count = self._on_examples(
            servable, request, CLASSIFY, signatures.classify_outputs, deadline
        )
        signatures.fill_classifications(result, outputs, count)

    def _regress(
        self, servable: Servable, request: Any, result: Any, deadline: float | None
    ) -> None:
        outputs, count = self._on_examples(
            servable, request, REGRESS, signatures.regress_outputs, deadline
        )
        signatures.fill_regressions(result, outputs[signatures.REGRESS_OUTPUT], count)

    def _on_examples(
        self, servable: Servable, request: Any, method: str,
        outputs_of: Callable[[Any], dict[str, str]], deadline: float | None,
    ) -> tuple[dict[str, Array], int]:  # fmt: skip
        key = request.model_spec.signature_name
        signature = signatures.example_signature(servable, key, method, self._checks_method)
        fetches = outputs_of(signature)
        examples = signatures.examples_of(request.input)
        self.metrics.examples.add(servable.name, count=len(examples))
        self.metrics.example_counts.add(len(examples), servable.name)
        feeds = signatures.feeds_of(signature, {signatures.CLASSIFY_INPUT: examples})
        api = "Classify" if method == CLASSIFY else "Regress"
        return self.run(servable, feeds, fetches, api, key, deadline), len(examples)

    def multi_inference(self, request: Any, deadline: float | None = None) -> Any:
        """Answer a `MultiInferenceRequest`: several signatures on the same examples.

        Raises:
          OpError: if it cannot be answered.
        """
        _check_tasks(request.tasks)
        with self.models.use(request.tasks[0].model_spec) as servable:
            response = MultiInferenceResponse()
            for task in request.tasks:
                result = response.results.add()
                key = task.model_spec.signature_name
                if task.method_name == CLASSIFY:
                    one = ClassificationRequest(model_spec=task.model_spec, input=request.input)
                    self._classify(servable, one, result.classification_result, deadline)
                else:
                    one = RegressionRequest(model_spec=task.model_spec, input=request.input)
                    self._regress(servable, one, result.regression_result, deadline)
                fill_spec(result.model_spec, servable, key)
            self._log(servable, "multi_inference_log", request, response)
        return response

    def metadata(self, request: Any, deadline: float | None = None) -> Any:
        """Answer a `GetModelMetadataRequest`.

        Raises:
          OpError: if it cannot be answered.
        """
        if not request.metadata_field:
            raise errors.invalid_argument(
                "GetModelMetadataRequest must specify at least one metadata_field"
            )
        for name in request.metadata_field:
            if name != "signature_def":
                raise errors.invalid_argument(f"MetadataField {name} is not supported")
        if not request.HasField("model_spec"):
            raise errors.invalid_argument("Missing ModelSpec")
        with self.models.use(request.model_spec) as servable:
            response = GetModelMetadataResponse()
            fill_spec(response.model_spec, servable, "")
            signatures_by_key = SignatureDefMap()
            for key, signature in servable.signatures.items():
                signatures_by_key.signature_def[key].CopyFrom(signature)
            response.metadata["signature_def"].Pack(signatures_by_key)
        return response

    # ---- ModelService --------------------------------------------------------------------------

    def status(self, request: Any, deadline: float | None = None) -> Any:
        """Answer a `GetModelStatusRequest`.

        Raises:
          OpError: if there is no such model or version.
        """
        response = GetModelStatusResponse()
        for version in self.models.versions(request.model_spec):
            found = response.model_version_status.add(version=version.number, state=version.state)
            found.status.SetInParent()
            if version.error is not None:
                found.status.error_code = version.error.error_code
                found.status.error_message = version.error.message
        return response

    def _log(self, servable: Servable, kind: str, request: Any, response: Any) -> None:
        if self._logs is not None and self._logs.samples(servable):
            self._logs.write(servable, kind, request, response)

    def log_prediction(
        self, servable: Servable, key: str, arrays: Mapping[str, Array],
        outputs: Mapping[str, Array],
    ) -> None:  # fmt: skip
        """Log a prediction that came as arrays, as if it had come as messages."""
        if self._logs is None or not self._logs.samples(servable):
            return
        request, response = PredictRequest(), PredictResponse()
        for message, values in ((request.inputs, arrays), (response.outputs, outputs)):
            for name, array in values.items():
                tensors.fill(message[name], array)
        fill_spec(request.model_spec, servable, key)
        fill_spec(response.model_spec, servable, key or DEFAULT_SIGNATURE)
        self._logs.write(servable, "predict_log", request, response)


def _check_tasks(tasks: Sequence[Any]) -> None:
    """Raise the error of a list of tasks that one session cannot do together."""
    if not tasks:
        raise errors.invalid_argument("Inference request contains no tasks.")
    seen = set()
    for task in tasks:
        if not task.model_spec.name:
            raise errors.invalid_argument("Found ModelSpec with an empty model name.")
        if task.model_spec.name != tasks[0].model_spec.name:
            raise errors.invalid_argument(
                "All ModelSpecs in a MultiInferenceRequest must access the same model name."
            )
        key = task.model_spec.signature_name or DEFAULT_SIGNATURE
        if key in seen:
            raise errors.invalid_argument(f"Duplicate evaluation of signature: {key}")
        seen.add(key)
        if task.method_name not in (CLASSIFY, REGRESS):
            raise errors.unimplemented(f"Unsupported signature method_name: {task.method_name}")


def fill_spec(spec: Any, servable: Servable, key: str) -> None:
    """Write down the version that has answered."""
    spec.name = servable.name
    spec.version.value = servable.version
    if key:
        spec.signature_name = key


def spec_of(name: str, version: int | None = None, label: str = "", signature: str = "") -> Any:
    """Return a `ModelSpec`."""
    spec = ModelSpec(name=name, signature_name=signature)
    if version is not None:
        spec.version.value = version
    elif label:
        spec.version_label = label
    return spec
