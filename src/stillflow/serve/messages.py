"""The messages of TensorFlow Serving's interface, by name."""

from __future__ import annotations

from stillflow.protos.other_files import serving_file as file

_API = "tensorflow_serving/apis/"
_CONFIG = "tensorflow_serving/config/"

_predict = file(_API + "predict.proto")
PredictRequest = _predict["PredictRequest"]
PredictResponse = _predict["PredictResponse"]

_classification = file(_API + "classification.proto")
ClassificationRequest = _classification["ClassificationRequest"]
ClassificationResponse = _classification["ClassificationResponse"]

_regression = file(_API + "regression.proto")
RegressionRequest = _regression["RegressionRequest"]
RegressionResponse = _regression["RegressionResponse"]

_inference = file(_API + "inference.proto")
MultiInferenceRequest = _inference["MultiInferenceRequest"]
MultiInferenceResponse = _inference["MultiInferenceResponse"]

_metadata = file(_API + "get_model_metadata.proto")
GetModelMetadataRequest = _metadata["GetModelMetadataRequest"]
GetModelMetadataResponse = _metadata["GetModelMetadataResponse"]
SignatureDefMap = _metadata["SignatureDefMap"]

_status = file(_API + "get_model_status.proto")
GetModelStatusRequest = _status["GetModelStatusRequest"]
GetModelStatusResponse = _status["GetModelStatusResponse"]
ModelVersionStatus = _status["ModelVersionStatus"]

_management = file(_API + "model_management.proto")
ReloadConfigRequest = _management["ReloadConfigRequest"]
ReloadConfigResponse = _management["ReloadConfigResponse"]

ModelSpec = file(_API + "model.proto")["ModelSpec"]
Input = file(_API + "input.proto")["Input"]
PredictionLog = file(_API + "prediction_log.proto")["PredictionLog"]

_models = file(_CONFIG + "model_server_config.proto")
ModelServerConfig = _models["ModelServerConfig"]
MonitoringConfig = file(_CONFIG + "monitoring_config.proto")["MonitoringConfig"]
SSLConfig = file(_CONFIG + "ssl_config.proto")["SSLConfig"]
BatchingParameters = file("tensorflow_serving/servables/tensorflow/session_bundle_config.proto")[
    "BatchingParameters"
]

_health = file("grpc/health/v1/health.proto")
HealthCheckRequest = _health["HealthCheckRequest"]
HealthCheckResponse = _health["HealthCheckResponse"]
