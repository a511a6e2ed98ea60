"""The gRPC services of TensorFlow Serving: PredictionService and ModelService."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.serve.inference import Inference
from stillflow.serve.log import logger
from stillflow.serve.messages import ReloadConfigResponse
from stillflow.util.grpc_handlers import handler, unary

PREDICTION = "tensorflow_serving/apis/prediction_service.proto"
MODEL = "tensorflow_serving/apis/model_service.proto"


def prediction_service(inference: Inference) -> Any:
    """Return the handler of `tensorflow.serving.PredictionService`."""
    calls = {
        "Predict": (inference.predict, _model),
        "Classify": (inference.classify, _model),
        "Regress": (inference.regress, _model),
        "MultiInference": (inference.multi_inference, _model_of_tasks),
        "GetModelMetadata": (inference.metadata, _model),
    }
    return handler(PREDICTION, {
        name: unary(_observed(inference, name, call, model_of))
        for name, (call, model_of) in calls.items()
    })  # fmt: skip


def model_service(inference: Inference, reload: Callable[[Any], None]) -> Any:
    """Return the handler of `tensorflow.serving.ModelService`.

    Args:
      inference: the calls.
      reload: takes a `ModelServerConfig`.
    """

    def reload_config(request: Any, deadline: float | None) -> Any:
        response = ReloadConfigResponse()
        response.status.SetInParent()
        if request.config.WhichOneof("config") != "model_config_list":
            raise errors.invalid_argument(
                "ServerModelConfig type not supported by HandleReloadConfigRequest. Only "
                "ModelConfigList is currently supported"
            )
        try:
            reload(request.config)
        except errors.OpError as error:
            logger.error("reload failed: %s", error.message)
            response.status.error_code = error.error_code
            response.status.error_message = error.message
        return response

    calls = {"GetModelStatus": inference.status, "HandleReloadConfigRequest": reload_config}
    return handler(MODEL, {name: unary(call) for name, call in calls.items()})


def _model(request: Any) -> str:
    name: str = request.model_spec.name
    return name


def _model_of_tasks(request: Any) -> str:
    return _model(request.tasks[0]) if request.tasks else ""


def _observed(
    inference: Inference, api: str, call: Callable[[Any, float | None], Any],
    model_of: Callable[[Any], str],
) -> Callable[[Any, float | None], Any]:  # fmt: skip
    def run(request: Any, deadline: float | None) -> Any:
        with inference.observed(model_of(request), api, "GRPC"):
            return call(request, deadline)

    return run
