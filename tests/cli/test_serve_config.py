"""`abound serve`: options from a file, from environment variables and from the command line."""

import json
import os
import subprocess
import sys

import pytest

from abound import Tagger
from abound.cli import serve as command
from abound.cli.serve_options import PREFIX, Operating
from tests.environment import unmeasured
from tests.server.http.running import Running

pytestmark = pytest.mark.skipif(os.name == "nt", reason="servers are stopped by a signal")


class _Module:
    """Records the settings instead of serving."""

    def __init__(self, real):
        self._real = real
        self.settings = None

    def __getattr__(self, name):
        return getattr(self._real, name)

    def run(self, settings, _):
        self.settings = settings


@pytest.fixture
def served(run, monkeypatch, tmp_path):
    """Return a function that runs `abound serve` up to the point where it would listen; it returns the settings."""
    Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]]).save(tmp_path / "model")
    Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]]).save(tmp_path / "other")
    module = _Module(command.load_server())
    monkeypatch.setattr(command, "load_server", lambda: module)
    monkeypatch.setattr("abound.server.http.logs.configure", lambda _: None)
    monkeypatch.chdir(tmp_path)

    def parse(*arguments, file=None, **variables):
        if file is not None:
            (tmp_path / "serve.toml").write_text(file)
            arguments += ("--config", "serve.toml")
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(PREFIX + name, value)
            result = run("serve", *arguments)
        return module.settings if result.code == 0 else result

    return parse


FILE = """
models = ["model"]
port = 9001
closed = true
keep_days = 30
slow_seconds = 0.25
log_format = "json"
allow_origin = ["http://a.example", "http://b.example:81"]
"""


def test_a_file_has_every_kind_of_option(served):
    settings = served(file=FILE)
    assert (settings.name, settings.port, settings.closed, settings.keep_days) == ("model", 9001, True, 30)
    assert settings.origins == ("http://a.example", "http://b.example:81")
    assert (settings.logs.format, settings.logs.slow_seconds) == ("json", 0.25)


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(served):
    assert served(file=FILE, PORT="9002").port == 9002
    assert served("--port", 9003, file=FILE, PORT="9002").port == 9003
    assert served("other", file=FILE).name == "other"
    assert served(file=FILE, MODELS="other").name == "other"
    assert served("model").port == 8000
    assert served("model", PORT="").port == 8000  # an empty variable is not set
    changed = served(file=FILE, CLOSED="false", ALLOW_ORIGIN="http://c.example, http://d.example")
    assert (changed.closed, changed.origins) == (False, ("http://c.example", "http://d.example"))
    assert served("model", CLOSED="true", SLOW_SECONDS="2").logs.slow_seconds == 2.0


def test_the_file_can_be_named_by_a_variable(served, tmp_path):
    (tmp_path / "other.toml").write_text('models = ["model", "other"]\nport = 9004\nmemory = "1G"')
    settings = served(CONFIG="other.toml")
    assert (sorted(settings.models), settings.each.port, settings.memory) == (["model", "other"], 9004, 1 << 30)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("prot = 1", "serve.toml: there is no option 'prot'; did you mean port?"),
        ("xyz = 1", "serve.toml: there is no option 'xyz'; the options are those of `abound serve --help`"),
        ("snapshot-every = 1", "there is no option 'snapshot-every'; did you mean snapshot_every?"),
        ('config = "x"', "there is no option 'config'"),
        ('port = "x"', "serve.toml: port must be a whole number from 0 to 65535, got 'x'"),
        ("port = 70000", "serve.toml: port must be a whole number from 0 to 65535, got 70000"),
        ("port = true", "port must be a whole number from 0 to 65535, got true"),
        ("workers = 1.5", "workers must be a whole number from 1 to 256, got 1.5"),
        ("keep_days = -1", "keep_days must be a number of at least 0, got -1"),
        ("closed = 1", "closed must be true or false, got 1"),
        ("host = 1", "host must be a text in quotes, got 1"),
        ('log_level = "loud"', "log_level must be one of 'debug', 'info', 'warning', 'error', got 'loud'"),
        ('allow_origin = "http://a.example"', "allow_origin must be a list of texts"),
        ("models = [1]", "models must be a list of texts"),
        ("port = ", "serve.toml is not valid TOML"),
    ],
)
def test_a_mistake_in_the_file_is_named(served, line, words):
    result = served("model", file=line)
    assert result.code == 1
    assert words in result.err
    assert len(result.err.splitlines()) == 1


def test_a_mistake_in_a_variable_is_named(served):
    assert "ABOUND_SERVE_PORT must be a whole number from 0 to 65535, got 'x'" in served("model", PORT="x").err
    assert "ABOUND_SERVE_CLOSED must be true or false, got 'maybe'" in served("model", CLOSED="maybe").err
    assert "ABOUND_SERVE_MODELS must be a list, separated by commas, got ','" in served(MODELS=",").err
    assert served("missing-model", CONFIG="missing.toml").err == "abound: missing.toml: No such file or directory\n"


def test_a_variable_without_an_option_is_reported(run, monkeypatch):
    monkeypatch.setenv("ABOUND_SERVE_PROT", "1")
    assert "ABOUND_SERVE_PROT is ignored" in run("serve").err


def test_every_option_can_be_in_the_file(served):
    import typer.main

    from abound.cli.app import app

    for option in typer.main.get_command(app).commands["serve"].params:
        name = max(option.opts, key=len).lstrip("-").replace("-", "_")
        result = served("model", file=f"{name} = {{}}")  # a value that no option has
        words = f"no option '{name}'" if name in ("check", "config") else f"serve.toml: {name} must be "
        assert words in result.err


def test_a_missing_package_is_named(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ImportError, match=r"traces need opentelemetry: pip install 'abound\[traces\]'"):
        Operating(traces=True).start()


def test_help_does_not_import_the_server():
    code = "import sys; from abound.cli import main\ntry: main(['serve', '--help'])\nexcept SystemExit: pass\n"
    code += "print(sorted({'msgspec', 'granian', 'tomllib', 'numpy', 'asyncio'} & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, env=unmeasured()
    )
    assert done.stderr.strip() == "[]"


def test_a_real_server_reads_its_file(tmp_path):
    Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]]).save(tmp_path / "model")
    config = {"models": [str(tmp_path / "model")], "workers": 2, "name": "from the file"}
    (tmp_path / "serve.toml").write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in config.items()))
    with Running(f"--config={tmp_path}/serve.toml") as server, server.client() as client:
        assert client.model()["name"] == "from the file"
        assert len(server.workers()) == 2
        assert server.stop() == 0
