"""Settings of the server: its flags, and configuration files in protobuf's text format.

The flags and messages are TensorFlow Serving's. Flags of our own say so in their help.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stillflow import errors
from stillflow.files import whole_file
from stillflow.serve.messages import (
    BatchingParameters,
    ModelServerConfig,
    MonitoringConfig,
    SSLConfig,
)

METRICS_PATH = "/monitoring/prometheus/metrics"
_LARGEST = 1 << 30  # a protobuf message cannot have 2 GiB


@dataclass
class Settings:
    """Everything that a server is told when it starts; the attributes are the flags' names."""

    port: int = 8500
    grpc_socket_path: str = ""
    rest_api_port: int = 8501
    rest_api_timeout_in_ms: int = 30000
    rest_api_num_threads: int = 0
    rest_api_enable_cors_support: bool = False
    host: str = "0.0.0.0"
    model_name: str = "default"
    model_base_path: str = ""
    model_config_file: str = ""
    model_config_file_poll_wait_seconds: int = 0
    file_system_poll_wait_seconds: float = 1.0
    max_num_load_retries: int = 5
    load_retry_interval_micros: int = 60_000_000
    num_load_threads: int = 0
    allow_version_labels_for_unavailable_models: bool = False
    enable_batching: bool = False
    batching_parameters_file: str = ""
    enable_model_warmup: bool = True
    num_request_iterations_for_warmup: int = 1
    monitoring_config_file: str = ""
    ssl_config_file: str = ""
    saved_model_tags: str = "serve"
    tensorflow_session_parallelism: int = 0
    tensorflow_intra_op_parallelism: int = 0
    tensorflow_inter_op_parallelism: int = 0
    per_process_gpu_memory_fraction: float = 0.0
    grpc_max_threads: int = 0
    grpc_channel_arguments: str = ""
    enable_grpc_healthcheck_service: bool = True
    enable_signature_method_name_check: bool = False
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    trust: str = "pure"
    max_message_bytes: int = _LARGEST
    shutdown_grace_seconds: float = 30.0
    workers: int = 1
    log_requests: str = ""
    log_requests_sampling_rate: float = 1.0

    @property
    def tags(self) -> list[str]:
        return _names(self.saved_model_tags)

    def model_configs(self) -> Any:
        """Return the `ModelServerConfig` of the configuration file, or of the one model.

        Raises:
          InvalidArgumentError: if the file cannot be parsed, or no model is named.
        """
        if self.model_config_file:
            return read_text_proto(self.model_config_file, ModelServerConfig)
        if not self.model_base_path:
            raise errors.invalid_argument(
                "Name a model: --model_base_path=/models/NAME, or --model_config_file=FILE"
            )
        found = ModelServerConfig()
        base = self.model_base_path
        found.model_config_list.config.add(
            name=self.model_name,
            base_path=base if "://" in base else os.path.abspath(base),
            model_platform="tensorflow",
        )
        return found

    def batching(self) -> Any:
        """Return the `BatchingParameters`, or None without `--enable_batching`.

        Raises:
          InvalidArgumentError: if the parameters contradict each other.
        """
        if not self.enable_batching:
            if self.batching_parameters_file:
                raise errors.invalid_argument(
                    "--batching_parameters_file is given, but --enable_batching is not"
                )
            return None
        if not self.batching_parameters_file:
            return BatchingParameters()
        return read_text_proto(self.batching_parameters_file, BatchingParameters)

    def metrics_path(self) -> str:
        """Return the path of the metrics for Prometheus, "" where they are off."""
        if not self.monitoring_config_file:
            return METRICS_PATH
        found = read_text_proto(self.monitoring_config_file, MonitoringConfig).prometheus_config
        return (found.path or METRICS_PATH) if found.enable else ""

    def ssl(self) -> Any:
        """Return the `SSLConfig`, or None."""
        if not self.ssl_config_file:
            return None
        return read_text_proto(self.ssl_config_file, SSLConfig)


def read_text_proto(path: str, kind: Any) -> Any:
    """Read a message from a file in protobuf's text format.

    Raises:
      NotFoundError: if there is no file.
      InvalidArgumentError: if it is not of this message, with its line and column.
    """
    from google.protobuf import text_format

    name = kind.DESCRIPTOR.name
    try:
        return text_format.Parse(whole_file.read(path).decode("utf-8"), kind())
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise errors.invalid_argument(f"Invalid protobuf file: {path} ({name}): {error}") from None


def parse_flags(arguments: Sequence[str]) -> Settings:
    """Return the settings of a command line; a wrong one ends the program, as `--help` does."""
    return Settings(**vars(_parser().parse_args(arguments)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m stillflow serve",
        description="Serve models by TensorFlow Serving's interfaces, gRPC and REST.",
        epilog="Names and meanings of flags and configuration files are TensorFlow Serving's; "
        "docs/serving.md has examples.",
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    for title, flags in _FLAGS.items():
        group = parser.add_argument_group(title)
        for name, about in flags.items():
            default = _DEFAULTS[name]
            said = about + ("" if default in ("", [], False) else f" (default: {default})")
            if isinstance(default, bool):
                group.add_argument(f"--{name}", nargs="?", const=True, type=_flag, help=said)
            elif isinstance(default, list):
                group.add_argument(f"--{name}", type=_names, metavar="NAMES", help=said)
            elif name == "trust":
                group.add_argument(
                    "--trust", nargs="?", const="all", choices=["pure", "all"], help=said
                )
            else:
                group.add_argument(f"--{name}", type=type(default), metavar="VALUE", help=said)
    return parser


def _flag(text: str) -> bool:
    if text.lower() in ("true", "1", "yes"):
        return True
    if text.lower() in ("false", "0", "no"):
        return False
    raise argparse.ArgumentTypeError(f"true or false, not {text!r}")


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


_DEFAULTS = vars(Settings())
_FLAGS: dict[str, dict[str, str]] = {
    "the models": {
        "model_name": "the model's name; ignored with --model_config_file",
        "model_base_path": "its folder with a numbered folder for each version; also the folder "
        "of one SavedModel, a frozen graph (.pb), or a checkpoint's prefix",
        "model_config_file": "file with a ModelServerConfig: the models",
        "model_config_file_poll_wait_seconds": "seconds between two looks at that file; 0: never",
        "file_system_poll_wait_seconds": "seconds between two looks for new versions; "
        "0: once, at the start; negative: never",
        "max_num_load_retries": "further attempts to load a version that failed",
        "load_retry_interval_micros": "microseconds between them",
        "num_load_threads": "versions that load at a time; 0: one",
        "allow_version_labels_for_unavailable_models": "let new labels name versions that are not "
        "loaded yet",
        "saved_model_tags": "tags of the graph in the SavedModel, separated by commas",
        "enable_model_warmup": "run the requests in assets.extra/tf_serving_warmup_requests first",
        "num_request_iterations_for_warmup": "times that each of them runs",
        "inputs": "tensors of a frozen graph or checkpoint, [NAME=]x:0 (ours)",
        "outputs": "tensors of a frozen graph or checkpoint, [NAME=]logits:0 (ours)",
        "trust": "all: serve graphs that read or write files, run Python or use the network (ours)",
    },
    "the interfaces": {
        "host": "address to listen on (ours)",
        "port": "port of gRPC; 0: none, negative: one that is free",
        "grpc_socket_path": "path of a UNIX socket for gRPC as well",
        "rest_api_port": "port of REST; 0: none, negative: one that is free",
        "rest_api_num_threads": "requests of REST that run at a time; 0: four for each processor",
        "rest_api_timeout_in_ms": "milliseconds that a call of REST may take",
        "rest_api_enable_cors_support": "answer pages of other origins",
        "grpc_max_threads": "requests of gRPC that run at a time; 0: four for each processor",
        "grpc_channel_arguments": "of the gRPC server, separated by commas: grpc.max_connection_"
        "age_ms=2000",
        "ssl_config_file": "file with an SSLConfig: TLS for gRPC",
        "enable_grpc_healthcheck_service": "serve grpc.health.v1.Health",
        "max_message_bytes": "size of the largest request (ours)",
        "shutdown_grace_seconds": "time for requests in flight when the server stops (ours)",
        "workers": "processes that answer requests and share the models' memory (ours)",
    },
    "the runs": {
        "enable_batching": "run requests that arrive together as one batch",
        "batching_parameters_file": "file with BatchingParameters",
        "tensorflow_session_parallelism": "threads of a session, inside operations and between",
        "tensorflow_intra_op_parallelism": "threads inside an operation",
        "tensorflow_inter_op_parallelism": "operations that run at a time",
        "per_process_gpu_memory_fraction": "share of a GPU's memory that may be used",
        "enable_signature_method_name_check": "check the method of signatures in classify and "
        "regress",
    },
    "observability": {
        "monitoring_config_file": "file with a MonitoringConfig: path of Prometheus' metrics",
        "log_requests": "prefix of TFRecord files with requests and responses (ours)",
        "log_requests_sampling_rate": "share of the requests that are logged, 0 to 1 (ours)",
    },
}
