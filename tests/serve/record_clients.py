"""Record calls of TensorFlow Serving's own client, and the values of TensorFlow's own session.

Run under TensorFlow 1.15.5 with the package tensorflow-serving-api, while a server of
`tests.serve.models.half_plus` runs; rewrites recorded/clients.json:

    python tests/serve/record_clients.py PORT MODEL_FOLDER
"""

import base64
import json
import os
import sys

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded", "clients.json")
NAME = "half_plus_two"
XS = [1.0, 2.0, 5.0, -3.25]


def example(**features):
    """Return an example of floats."""
    made = {
        name: tf.train.Feature(float_list=tf.train.FloatList(value=[value]))
        for name, value in features.items()
    }
    return tf.train.Example(features=tf.train.Features(feature=made))


def predict(**spec):
    request = predict_pb2.PredictRequest()
    request.model_spec.name = NAME
    for field, value in spec.items():
        if field == "version":
            request.model_spec.version.value = value
        elif field == "output_filter":
            request.output_filter.extend(value)
        elif field != "x":
            setattr(request.model_spec, field, value)
    x = np.array(spec.get("x", XS), np.float32).reshape(-1, 1)
    request.inputs["x"].CopyFrom(tf.make_tensor_proto(x))
    return request


def on_examples(kind, signature, context=False):
    request = kind()
    request.model_spec.name = NAME
    request.model_spec.signature_name = signature
    if context:
        both = request.input.example_list_with_context
        both.context.CopyFrom(example(x2=7.0))
        both.examples.extend(example(x=x) for x in XS)
    else:
        request.input.example_list.examples.extend(example(x=x) for x in XS)
    return request


def several():
    request = inference_pb2.MultiInferenceRequest()
    for signature, method in (("regress_x_to_y", "regress"), ("classify", "classify")):
        task = request.tasks.add(method_name="tensorflow/serving/" + method)
        task.model_spec.name = NAME
        task.model_spec.signature_name = signature
    request.input.example_list.examples.extend(example(x=x) for x in XS)
    return request


def cases():
    classify = classification_pb2.ClassificationRequest
    regress = regression_pb2.RegressionRequest
    yield "Predict", predict(), "y"
    yield "Predict", predict(version=1, signature_name="serving_default"), "y"
    yield "Predict", predict(output_filter=["y"], x=[0.5]), "y"
    yield "Predict", predict(version=9), None
    yield "Predict", predict(signature_name="none"), None
    yield "Predict", predict(output_filter=["z"]), None
    yield "Regress", on_examples(regress, "regress_x_to_y"), "y"
    yield "Regress", on_examples(regress, "regress_x_to_y", context=True), "y"
    yield "Regress", on_examples(regress, "classify"), None
    yield "Classify", on_examples(classify, "classify_x_to_y"), "y"
    yield "Classify", on_examples(classify, "classify"), None
    yield "Classify", on_examples(classify, "none"), None
    yield "MultiInference", several(), None
    metadata = get_model_metadata_pb2.GetModelMetadataRequest()
    metadata.model_spec.name = NAME
    metadata.metadata_field.append("signature_def")
    yield "GetModelMetadata", metadata, None
    status = get_model_status_pb2.GetModelStatusRequest()
    status.model_spec.name = NAME
    yield "GetModelStatus", status, None


def values_of(method, response):
    """Return the numbers of an answer, as a client reads them."""
    if method == "Predict":
        assert list(response.outputs["y"].float_val)
        return tf.make_ndarray(response.outputs["y"]).reshape(-1).tolist()
    if method == "Regress":
        return [each.value for each in response.result.regressions]
    return [each.classes[0].score for each in response.result.classifications]


def from_session(folder):
    """Return y of all x, from TensorFlow's own session."""
    with tf.Session(graph=tf.Graph()) as session:
        tf.saved_model.load(session, ["serve"], folder)
        return {x: float(session.run("y:0", {"x:0": [[x]]})[0, 0]) for x in [*XS, 0.5]}


def main(port, folder):
    wanted = from_session(folder)
    channel = grpc.insecure_channel("127.0.0.1:" + port)
    predictions = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    models = model_service_pb2_grpc.ModelServiceStub(channel)
    records = []
    for method, request, output in cases():
        stub = models if method == "GetModelStatus" else predictions
        service = "ModelService" if method == "GetModelStatus" else "PredictionService"
        record = {"method": "/tensorflow.serving." + service + "/" + method}
        record["request"] = base64.b64encode(request.SerializeToString()).decode()
        try:
            response = getattr(stub, method)(request, timeout=30)
            record["response"] = base64.b64encode(response.SerializeToString()).decode()
            if output is not None:
                xs = [0.5] if method == "Predict" and request.output_filter else XS
                record["session"] = [wanted[x] for x in xs]
                assert values_of(method, response) == record["session"], method
        except grpc.RpcError as error:
            record["code"], record["details"] = error.code().name, error.details()
        records.append(record)
    with open(RECORDED, "w") as file:
        json.dump(records, file, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
