"""MLflow, unmodified: a model is logged to a store, loaded in three ways, registered and served over HTTP."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

import abound
from abound import Tagger
from benchmarks.peers.environments import interpreter

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the server is stopped by a signal"),
]
TEXTS, LABELS = ["a red apple", "a fast car"] * 30, [["fruit"], ["vehicle"]] * 30
LOG = """
import json, sys
import mlflow, pandas as pd
from dataclasses import asdict
import abound.mlflow

mlflow.set_tracking_uri(sys.argv[1])
with mlflow.start_run():
    info = abound.mlflow.log_model(sys.argv[2], "subjects", registered_model_name="subjects")
model = mlflow.pyfunc.load_model("models:/subjects/1")
inputs = {
    "list": ["a red apple"],
    "series": pd.Series(["a red apple"]),
    "frame": pd.DataFrame({"text": ["a red apple"]}),
}
found = {name: model.predict(given, params={"k": 1}) for name, given in inputs.items()}
found["assigned"] = model.predict(["a red apple"], params={"assign": True})
tagger = abound.mlflow.load_model(info.model_uri)
found["tagger"] = [[asdict(entry) for entry in tagger.rank("a red apple", k=1)]]
found["state_hash"] = tagger.state_hash()
found["directory"] = mlflow.artifacts.download_artifacts(artifact_uri="models:/subjects/1", dst_path=sys.argv[3])
with mlflow.start_run():
    fields = mlflow.pyfunc.load_model(abound.mlflow.log_model(sys.argv[4], "fields").model_uri)
found["fields"] = fields.predict(pd.DataFrame({"title": ["a red apple"]}), params={"k": 1})
try:
    fields.predict(["a red apple"])
except Exception as error:
    found["refused"] = str(error)
print(json.dumps(found))
"""


@pytest.fixture
def python() -> str:
    return str(Path(interpreter("mlflow", Path(__file__).parent)).absolute())


@pytest.fixture
def environment(tmp_path: Path, python: str) -> dict[str, str]:
    """Return variables with which the interpreter finds this abound, and nothing else of this environment."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "abound").symlink_to(Path(abound.__file__).parent)
    paths = {"PYTHONPATH": str(tmp_path / "path"), "PATH": f"{Path(python).parent}:{os.environ['PATH']}"}
    return {**os.environ, **paths, "MLFLOW_DISABLE_TELEMETRY": "true", "PYTHONDONTWRITEBYTECODE": "1"}


def test_a_model_is_logged_registered_loaded_and_served(tmp_path, python, environment):
    tagger = Tagger(language="en").fit(TEXTS, LABELS)
    tagger.save(tmp_path / "model")
    Tagger(language="en").fit([{"title": text, "abstract": "a b"} for text in TEXTS], LABELS).save(tmp_path / "fields")
    (tmp_path / "copy").mkdir()
    arguments = [f"sqlite:///{tmp_path}/store.db", tmp_path / "model", tmp_path / "copy", tmp_path / "fields"]
    done = subprocess.run(
        [python, "-c", LOG, *arguments], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    [[entry]] = found["list"]
    expected = tagger.rank("a red apple", k=1)[0]
    assert entry == {name: getattr(expected, name) for name in ("label", "score", "rank", "probability")}
    assert found["list"] == found["series"] == found["frame"] == found["tagger"] == found["assigned"]
    assert found["state_hash"] == tagger.state_hash()
    assert found["fields"][0][0]["label"] == "fruit"
    assert "'title' or 'abstract'" in found["refused"]
    check_files(Path(found["directory"]))
    served = serve(python, found["directory"], environment, tmp_path)
    assert served["inputs"] == served["records"] == {"predictions": found["list"]}
    assert served["refused"][0] == 400
    assert "k must be a whole number of at least 1" in served["refused"][1]


def check_files(directory: Path) -> None:
    """Check that the artifact has no pickle, and names our loader, a signature and an example."""
    names = {path.suffix for path in directory.rglob("*") if path.is_file()}
    assert names <= {".npy", ".json", ".yaml", ".txt", ""}, names
    description = (directory / "MLmodel").read_text()
    assert "loader_module: abound.mlflow" in description
    assert "data: data/abound" in description
    assert '"name": "k"' in description
    assert json.loads((directory / "input_example.json").read_text()) == ["Growing roses in a cold climate"]
    assert abound.load(directory / "data" / "abound").n_labels == 2


def serve(python: str, model: str, environment: dict[str, str], folder: Path) -> dict[str, object]:
    """Serve a model with `mlflow models serve`, and return its answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [python, "-m", "mlflow", "models", "serve", "-m", model, "--env-manager", "local", "-p", str(port)]
    with (folder / "serve.log").open("w") as log:
        process = subprocess.Popen(
            [*command, "-h", "127.0.0.1"], env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            ends = time.monotonic() + 120
            while not is_up(client):
                assert process.poll() is None, (folder / "serve.log").read_text()
                assert time.monotonic() < ends
                time.sleep(0.2)
            ask = {"params": {"k": 1}}
            inputs = client.post("/invocations", json={"inputs": ["a red apple"], **ask})
            records = client.post("/invocations", json={"dataframe_records": [{"text": "a red apple"}], **ask})
            refused = client.post("/invocations", json={"inputs": ["a red apple"], "params": {"k": 0}})
            return {
                "inputs": inputs.json(),
                "records": records.json(),
                "refused": (refused.status_code, refused.text),
            }
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def is_up(client: httpx.Client) -> bool:
    try:
        return client.get("/ping").status_code == 200
    except httpx.HTTPError:
        return False
