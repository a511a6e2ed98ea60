"""Inference of frozen graphs: Stillflow, TensorFlow 1.15.5 and the runtimes of today.

    python -m benchmarks.inference                                   # every network and peer
    python -m benchmarks.inference --only mobilenet,lstm_classifier --peers tf115,onnxruntime
    make bench-inference                                             # installs the peers first

TensorFlow 1.15.5 writes the graphs (Stillflow does where it is not there), with the same weights
for all. A process measures one peer, one network and one batch, and the peers take turns. A time
counts only where the answer is TensorFlow's to 1e-3 of the largest value.

  tf115        `Session.run` of TensorFlow 1.15.5
  stillflow    `Session.run`, the plan alone
  engine       `Session.run` with STILLFLOW_ENGINE=auto, which may take one of the runtimes below
  onnxruntime  the model that `stillflow export --to onnx` writes
  openvino     the same model, in float32
  torch        the module that `stillflow export --to torch` writes, eager; LSTMs are `nn.LSTM`
  compile      that module under `torch.compile`
  freezing     the same, with the weights frozen
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.child import MARK, import_implementation, median, timed
from benchmarks.frozen_graphs import NETWORKS, OUTPUT, rows
from benchmarks.serving import tensorflow

ROOT = Path(__file__).resolve().parent.parent
THREADS = 2
SECONDS = 3.0  # of one measurement, at least five runs
TOLERANCE = 1e-3  # of the largest value; frozen weights of convolutions are folded in float32
REFERENCE, OURS = "tf115", "stillflow"


# ---- Peers: each gives a function of the input ------------------------------------------------


def session_of(tf: Any, folder: str, name: str) -> Callable[[Any], Any]:
    """Return `Session.run` of the frozen graph."""
    graph_def = tf.GraphDef()
    with open(f"{folder}/{name}.pb", "rb") as file:
        graph_def.ParseFromString(file.read())
    config = tf.ConfigProto(
        intra_op_parallelism_threads=THREADS, inter_op_parallelism_threads=THREADS
    )
    session = tf.Session(graph=tf.Graph(), config=config)
    with session.graph.as_default():
        tf.import_graph_def(graph_def, name="")
    return lambda x: session.run(OUTPUT + ":0", {"x:0": x})


def onnxruntime(folder: str, name: str) -> Callable[[Any], Any]:
    """Return ONNX Runtime's run of the exported model."""
    ort = importlib.import_module("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = ort.InferenceSession(
        f"{folder}/{name}.onnx", options, providers=["CPUExecutionProvider"]
    )
    return lambda x: session.run(None, {"x:0": x})[0]


def openvino(folder: str, name: str) -> Callable[[Any], Any]:
    """Return OpenVINO's run of the exported model, in float32."""
    core = importlib.import_module("openvino").Core()
    settings = {
        "INFERENCE_NUM_THREADS": THREADS, "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
    }  # fmt: skip
    model = core.compile_model(f"{folder}/{name}.onnx", "CPU", settings)
    return lambda x: model([x])[0]


def module_of(folder: str, name: str) -> Any:
    """Return the network as a module of PyTorch."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(THREADS)
    if name == "lstm_classifier":
        return _lstm(torch, dict(np.load(f"{folder}/{name}.npz"))).eval()
    sys.path.insert(0, f"{folder}/{name}.torch")
    return importlib.import_module("model").load().eval()


def _lstm(torch: Any, weights: dict[str, Any]) -> Any:
    """Return the LSTM as PyTorch's own layer, which has other gates in second and third place."""

    def ordered(array: Any) -> Any:
        i, j, f, o = np.split(array, 4, -1)
        return torch.from_numpy(np.concatenate([i, f, j, o], -1).T.copy())

    kernel, bias = weights["rnn/lstm_cell/kernel"], weights["rnn/lstm_cell/bias"].copy()
    bias[512:768] += 1.0  # the forget gate's
    layer = torch.nn.LSTM(128, 256, batch_first=True)
    values = [ordered(kernel[:128]), ordered(kernel[128:]), ordered(bias), torch.zeros(1024)]
    with torch.no_grad():
        for parameter, value in zip(layer.parameters(), values):
            parameter.copy_(value)
    words, dense = torch.from_numpy(weights["words"]), torch.from_numpy(weights["dense/kernel"])

    class Classifier(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            outputs, _ = self.layer(torch.nn.functional.embedding(x, words))
            return outputs[:, -1] @ dense

    return Classifier()


def torch_module(folder: str, name: str) -> Callable[[Any], Any]:
    """Return the eager module."""
    torch, module = importlib.import_module("torch"), module_of(folder, name)

    def run(x: Any) -> Any:
        with torch.inference_mode():
            return module(torch.from_numpy(x)).numpy()

    return run


def compiled(folder: str, name: str) -> Callable[[Any], Any]:
    """Return the module under `torch.compile`."""
    torch, module = importlib.import_module("torch"), module_of(folder, name)
    module = torch.compile(module, dynamic=False)

    def run(x: Any) -> Any:
        with torch.no_grad():
            return module(torch.from_numpy(x)).numpy()

    return run


PEERS: dict[str, tuple[Any, dict[str, str]]] = {
    "tf115": (None, {}),
    "stillflow": (None, {"STILLFLOW_ENGINE": "plan"}),
    "engine": (None, {"STILLFLOW_ENGINE": "auto"}),
    "onnxruntime": (onnxruntime, {}),
    "openvino": (openvino, {}),
    "torch": (torch_module, {}),
    "compile": (compiled, {}),
    "freezing": (compiled, {"TORCHINDUCTOR_FREEZING": "1"}),
}


# ---- One measurement --------------------------------------------------------------------------


def measure(name: str, batch: int, peer: str, folder: str) -> dict[str, Any]:
    """Return the time of a run in seconds, and keep the answer in a file."""
    started = time.perf_counter()
    open_peer, _ = PEERS[peer]
    if open_peer is None:
        tf = import_implementation(peer if peer == REFERENCE else OURS)
        run = session_of(tf, folder, name)
    else:
        run = open_peer(folder, name)
    x = rows(name, batch)
    answer = run(x)
    first = time.perf_counter() - started
    np.save(answer_file(folder, name, batch, peer), answer)
    one = timed(lambda: run(x))
    for _ in range(3 if one < 0.5 else 1):
        run(x)
    times = [timed(lambda: run(x)) for _ in range(max(5, min(200, int(SECONDS / one))))]
    return {"time": median(times), "fastest": min(times), "first": first}


def answer_file(folder: str, name: str, batch: int, peer: str) -> str:
    """Return where a peer leaves its answer."""
    return f"{folder}/{name}-{batch}-{peer}.npy"


def difference(folder: str, name: str, batch: int, peer: str, reference: str) -> float:
    """Return the largest difference of two answers, over the largest value."""
    mine, theirs = (np.load(answer_file(folder, name, batch, each)) for each in (peer, reference))
    return float(np.abs(mine - theirs).max() / max(1e-30, np.abs(theirs).max()))


# ---- Everything -------------------------------------------------------------------------------


def prepare(folder: str, names: list[str], peers: list[str]) -> None:
    """Write the frozen graphs, and what the peers run, unless they are in the folder."""
    module = "tensorflow" if REFERENCE in peers else OURS
    for name in names:
        if not Path(folder, f"{name}.pb").exists():
            python = interpreter(REFERENCE if module == "tensorflow" else OURS)
            _call([python, "-W", "ignore", "-m", "benchmarks.frozen_graphs", module, folder, name])
        if {"onnxruntime", "openvino"} & set(peers):
            _export(folder, name, "onnx", "--dynamic", "x:0=batch")
        if {"torch", "compile", "freezing"} & set(peers):
            if name == "lstm_classifier":
                _keep_weights(folder, name)
            else:
                _export(folder, name, "torch")


def _export(folder: str, name: str, form: str, *options: str) -> None:
    target = f"{folder}/{name}.{form}"
    if not Path(target).exists():
        _call([interpreter(OURS), "-m", "stillflow", "export", f"{folder}/{name}.pb", "--to", form,
               "-o", target, "--inputs", "x:0", "--outputs", f"{OUTPUT}:0", "--no-verify",
               *options])  # fmt: skip


def _keep_weights(folder: str, name: str) -> None:
    tf = importlib.import_module(OURS)
    graph_def = tf.GraphDef.FromString(Path(folder, f"{name}.pb").read_bytes())
    constants = [node for node in graph_def.node if node.op == "Const"]
    weights = {node.name: tf.make_ndarray(node.attr["value"].tensor) for node in constants}
    np.savez(f"{folder}/{name}.npz", **weights)


def interpreter(peer: str) -> str:
    """Return the Python of a peer: TensorFlow's environment, that of the runtimes, or this one."""
    found = tensorflow()
    if peer != REFERENCE:
        found = found.parents[2] / "peers" / "bin" / "python"
    return str(found) if peer == REFERENCE or found.exists() else sys.executable


def _call(command: list[str], **settings: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", **settings)
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no output"])[-1])
    return done.stdout


def is_installed(peer: str) -> bool:
    """Return True if a peer can run; says so if it cannot."""
    there = Path(interpreter(peer)).exists()
    if peer in ("onnxruntime", "openvino"):
        finds = f"import importlib.util as u, sys; sys.exit(u.find_spec({peer!r}) is None)"
        there = not subprocess.run([interpreter(peer), "-c", finds], check=False).returncode
    if not there:
        print(f"{peer}: left out, it is not installed", file=sys.stderr)
    return there


def run_all(folder: str, names: list[str], peers: list[str], rounds: int) -> list[dict[str, Any]]:
    """Measure everything, with another peer first in every round; return the records."""
    records = []
    for turn in range(rounds):
        for name in names:
            for batch in NETWORKS[name].batches:
                for peer in peers[turn % len(peers) :] + peers[: turn % len(peers)]:
                    records.append(_one(folder, name, batch, peer, turn))
    return records


def _one(folder: str, name: str, batch: int, peer: str, turn: int) -> dict[str, Any]:
    command = [interpreter(peer), "-W", "ignore", "-m", "benchmarks.inference", "--measure",
               name, str(batch), peer, folder]  # fmt: skip
    record: dict[str, Any] = {"network": name, "batch": batch, "peer": peer, "round": turn}
    try:
        output = _call(command, OMP_NUM_THREADS=str(THREADS), **PEERS[peer][1])
        line = next(line for line in output.splitlines() if line.startswith(MARK))
        record.update(json.loads(line[len(MARK) :]))
        text = f"{record['time'] * 1e3:.2f} ms"
    except RuntimeError as error:
        record["error"] = text = str(error)
    print(f"{name:<16} {batch:>2} {peer:<12} {text}", file=sys.stderr, flush=True)
    return record


def judge(folder: str, records: list[dict[str, Any]]) -> None:
    """Write into each record with a time how far its answer is from the reference's."""
    names = {each["peer"] for each in records}
    reference = REFERENCE if REFERENCE in names else OURS
    for each in records:
        if "time" in each:
            place = each["network"], each["batch"], each["peer"]
            each["difference"] = difference(folder, *place, reference)


def medians(records: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the milliseconds of each peer whose answers are right, by row of the table."""
    times: dict[str, dict[str, list[float]]] = {}
    for each in records:
        row = times.setdefault(f"{NETWORKS[each['network']].title}, {each['batch']}", {})
        if each.get("difference", np.inf) <= TOLERANCE:
            row.setdefault(each["peer"], []).append(each["time"] * 1e3)
    return {
        title: {peer: statistics.median(found) for peer, found in row.items()}
        for title, row in times.items()
    }


def table(records: list[dict[str, Any]], peers: list[str]) -> list[str]:
    """Return the lines of the table: milliseconds, and how many times Stillflow's."""
    lines = ["| | " + " | ".join(peers) + " |", "|---|" + "---:|" * len(peers)]
    rows = medians(records).items()
    return lines + [f"| {title} | {_cells(times, peers)} |" for title, times in rows]


def _cells(times: dict[str, float], peers: list[str]) -> str:
    ours = times.get(OURS)
    ratio = {peer: f" ({time / ours:.2f})" if ours else "" for peer, time in times.items()}
    cells = [f"{times[peer]:.3g}{ratio[peer]}" if peer in times else "" for peer in peers]
    return " | ".join(cells)


def main(argv: list[str] | None = None) -> int:
    """Prepare, measure, print the table; return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inference")
    parser.add_argument("--only", default=",".join(NETWORKS), help="networks: %(default)s")
    parser.add_argument("--peers", default=",".join(PEERS), help="any of %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="fresh processes each (%(default)s)")
    parser.add_argument("--folder", help="where graphs stay, to be used again (none)")
    parser.add_argument("--out", help="JSON file for the raw numbers")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.measure:
        name, batch, peer, folder = options.measure
        print(MARK + json.dumps(measure(name, int(batch), peer, folder)))
        return 0
    names = options.only.split(",")
    peers = [peer for peer in options.peers.split(",") if is_installed(peer)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or temporary
        os.makedirs(folder, exist_ok=True)
        prepare(folder, names, peers)
        records = run_all(folder, names, peers, options.rounds)
        judge(folder, records)
    print("\n".join(table(records, peers)))
    if options.out:
        Path(options.out).write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    return int(any("error" in each for each in records))


if __name__ == "__main__":
    sys.exit(main())
