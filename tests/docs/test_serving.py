"""The service of docs/serving.md, asked by several threads at once."""

from __future__ import annotations

import json
import re
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import stillflow as tf

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
PROGRAM = "".join(re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE))


def test_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with tf.Graph().as_default() as graph:
        image = tf.placeholder(tf.float32, [None, 4], name="image")
        tf.nn.softmax(image, name="prob")
    Path("frozen.pb").write_bytes(graph.as_graph_def().SerializeToString())
    assert PROGRAM.endswith("server.serve_forever()\n")
    program = PROGRAM.replace("server.serve_forever()\n", "").replace("8501", "0")
    service: dict = {}
    exec(compile(program, "serving.md", "exec"), service)
    service["Service"].log_message = lambda *arguments: None
    with service["server"] as server, service["session"]:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            address = f"http://127.0.0.1:{server.server_port}"
            rows = [
                np.random.default_rng(seed).normal(size=(seed % 3 + 1, 4)) for seed in range(24)
            ]
            with ThreadPoolExecutor(8) as pool:
                answers = list(pool.map(lambda row: ask(address, row.tolist()), rows))
            for row, answer in zip(rows, answers):
                wanted = np.exp(row) / np.exp(row).sum(1, keepdims=True)
                np.testing.assert_allclose(answer, wanted, rtol=1e-5)
            with pytest.raises(urllib.error.HTTPError) as refused:
                ask(address, [[1, 2, 3]])
            assert refused.value.code == 400
            assert "Cannot feed value of shape (1, 3)" in json.load(refused.value)["error"]
            refused.value.close()
        finally:
            server.shutdown()
            thread.join()


def ask(address: str, image: list) -> list:
    request = urllib.request.Request(address, json.dumps(image).encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)
