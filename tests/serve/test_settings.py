"""Flags of the command, and configuration files."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from stillflow import errors
from stillflow.serve.log import JsonFormatter
from stillflow.serve.messages import SSLConfig
from stillflow.serve.metrics import Counter, Histogram, Metrics
from stillflow.serve.settings import METRICS_PATH, Settings, parse_flags, read_text_proto


def test_flags() -> None:
    found = parse_flags(
        [
            "--port=9000",
            "--rest_api_port",
            "9001",
            "--model_name=m",
            "--model_base_path=/m",
            "--enable_batching",
            "--enable_model_warmup=false",
            "--file_system_poll_wait_seconds=0.5",
            "--inputs=x:0,y=z:0",
            "--trust",
        ]
    )
    assert (found.port, found.rest_api_port, found.model_name) == (9000, 9001, "m")
    assert found.enable_batching and not found.enable_model_warmup
    assert found.file_system_poll_wait_seconds == 0.5
    assert (found.inputs, found.trust) == (["x:0", "y=z:0"], "all")
    assert parse_flags([]) == Settings()


@pytest.mark.parametrize(
    "flags", ["--nonsense=1", "--port=x", "--enable_batching=maybe", "--por=1"]
)
def test_wrong_flags(flags: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_flags(flags.split())
    assert flags.partition("=")[0] in capsys.readouterr().err


def test_one_model_by_flags() -> None:
    (model,) = (
        Settings(model_name="m", model_base_path="m").model_configs().model_config_list.config
    )
    assert model.name == "m" and Path(model.base_path) == Path("m").absolute()
    with pytest.raises(errors.InvalidArgumentError, match="Name a model"):
        Settings().model_configs()


def test_configuration_files(tmp_path: Path) -> None:
    file = tmp_path / "a.config"
    file.write_text(
        'model_config_list { config { name: "m" base_path: "/m" model_platform: "tensorflow" '
        "model_version_policy { specific { versions: 42 } } version_labels { key: 'a' value: 42 }}}"
    )
    (model,) = Settings(model_config_file=str(file)).model_configs().model_config_list.config
    assert list(model.model_version_policy.specific.versions) == [42]
    assert dict(model.version_labels) == {"a": 42}
    file.write_text("max_batch_size { value: 128 } allowed_batch_sizes: [64, 128]")
    settings = Settings(enable_batching=True, batching_parameters_file=str(file))
    assert settings.batching().max_batch_size.value == 128
    assert Settings().batching() is None
    with pytest.raises(errors.InvalidArgumentError, match="--enable_batching is not"):
        Settings(batching_parameters_file=str(file)).batching()
    file.write_text('prometheus_config { enable: true, path: "/metrics" }')
    assert Settings(monitoring_config_file=str(file)).metrics_path() == "/metrics"
    file.write_text("prometheus_config { enable: false }")
    assert Settings(monitoring_config_file=str(file)).metrics_path() == ""
    assert Settings().metrics_path() == METRICS_PATH


def test_damaged_configuration_files(tmp_path: Path) -> None:
    file = tmp_path / "ssl.config"
    file.write_text("server_key: 'a'\nwrong: 1")
    with pytest.raises(errors.InvalidArgumentError, match=r"ssl.config \(SSLConfig\): 2:1"):
        read_text_proto(str(file), SSLConfig)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(errors.InvalidArgumentError, match="Invalid protobuf file"):
        read_text_proto(str(file), SSLConfig)
    with pytest.raises(errors.NotFoundError):
        read_text_proto(str(tmp_path / "none"), SSLConfig)


def test_metrics_as_prometheus_reads_them() -> None:
    counter = Counter("/test/path/total", ["name"])
    counter.add("abc", count=2)
    counter.add('"abc\\"')
    assert list(counter.lines()) == [
        "# TYPE :test:path:total counter",
        ':test:path:total{name="\\"abc\\\\\\""} 1',
        ':test:path:total{name="abc"} 2',
    ]
    histogram = Histogram("/test/path/histogram", ["status"], 1, 2, 4)
    for value in (2, 20, 200):
        histogram.add(value, "good")
    assert list(histogram.lines()) == [
        "# TYPE :test:path:histogram histogram",
        ':test:path:histogram_bucket{status="good",le="1"} 0',
        ':test:path:histogram_bucket{status="good",le="2"} 0',
        ':test:path:histogram_bucket{status="good",le="4"} 1',
        ':test:path:histogram_bucket{status="good",le="8"} 1',
        ':test:path:histogram_bucket{status="good",le="+Inf"} 3',
        ':test:path:histogram_sum{status="good"} 222',
        ':test:path:histogram_count{status="good"} 3',
    ]


def test_a_page_of_metrics() -> None:
    metrics = Metrics()
    metrics.queue_length.read = lambda: 3
    metrics.requests.add("m", "OK")
    metrics.batch_sizes.add(4, "m", "1")
    page = metrics.page()
    assert ':tensorflow:serving:request_count{model_name="m",status="OK"} 1\n' in page
    assert page.endswith(":stillflow:serving:batch_queue_length 3\n")
    counts = json.loads(json.dumps(metrics.counts()))
    both = Metrics()
    for _ in range(2):
        both.merge(counts)
    page = both.page()
    assert ':tensorflow:serving:request_count{model_name="m",status="OK"} 2\n' in page
    assert ':batch_size_bucket{model_name="m",version="1",le="8"} 2\n' in page
    assert ':batch_size_sum{model_name="m",version="1"} 8\n' in page
    assert page.endswith(":stillflow:serving:batch_queue_length 6\n")


def test_lines_of_the_log() -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "loaded %s", ("m",), None)
    record.model, record.seconds = "m", 0.12345678
    line = json.loads(JsonFormatter().format(record))
    assert line.pop("time").endswith("Z")
    assert line == {"level": "info", "event": "loaded m", "model": "m", "seconds": 0.123457}
