"""KServe's own client, unmodified: texts as JSON and in binary form."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from abound import Tagger
from benchmarks.page import stage
from benchmarks.peers.environments import interpreter
from tests.integrations.pictures import run_example
from tests.server.http.running import Running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the server is stopped by a signal"),
]
SCRIPT = """
import asyncio, json, sys
import numpy as np
from kserve import InferenceRESTClient, InferInput, InferRequest, RESTConfig

async def main(url, name):
    client = InferenceRESTClient(RESTConfig(protocol="v2"))
    found = {"ready": [await client.is_server_ready(url), await client.is_server_live(url)]}
    found["ready"].append(await client.is_model_ready(url, name))
    for binary in (False, True):
        texts = InferInput("text", [2], "BYTES")
        texts.set_data_from_numpy(np.array(["a red apple", "schnell: a fast car"], object), binary_data=binary)
        request = InferRequest(name, [texts], request_id="seven", parameters={"k": 1})
        answer = await client.infer(url, request, model_name=name)
        found[str(binary)] = {output.name: [output.shape, output.data] for output in answer.outputs}
        found["id"] = answer.id
    try:
        await client.infer(url, request, model_name="unknown")
    except Exception as error:
        found["error"] = str(error)
    print(json.dumps(found))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("several", [False, True])
def test_kserve_client_works_unchanged(tmp_path, several):
    library = tmp_path / "library"
    library.mkdir()
    Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]]).save(library / "subjects")
    python = interpreter("kserve", Path(__file__).parent)
    with Running(f"--library={library}" if several else library / "subjects") as server:
        command = [python, "-c", SCRIPT, server.url, "subjects"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["ready"] == [True, True, True]
    assert found["id"] == "seven"
    assert found["True"] == found["False"]
    assert found["True"]["labels"] == [[2, 1], ["fruit", "vehicle"]]
    assert all(0 < score <= 1 for score in found["True"]["scores"][1])
    assert "404" in found["error"]


def test_the_example_of_the_documentation_runs(data_folder, tmp_path):
    stage.make_model(tmp_path / "subjects", 20_000)
    with Running(tmp_path / "subjects") as server:
        printed = run_example("KServe", interpreter("kserve", Path(__file__).parent), server.url, "kserve")
    assert "names [1, 3] ['roses" in printed
