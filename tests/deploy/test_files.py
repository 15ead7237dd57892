"""The files of deploy/ are valid, and name only options, paths and metrics that the server has."""

import configparser
import json
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
import typer.main
import yaml

from abound import Tagger
from abound.cli.app import app
from abound.server import Home
from abound.server.http.app import ENDPOINTS
from tests.server.http.calls import fetch
from tests.server.http.running import ROOT, Running

DEPLOY = ROOT / "deploy"
SERVE = typer.main.get_command(app).commands["serve"]
OPTIONS = {option[2:].replace("-", "_") for one in SERVE.params for option in one.opts if option.startswith("--")}
NAMES = OPTIONS - {"check", "config"} | {"models"}  # of a configuration file
PATHS = {endpoint.path for endpoint in ENDPOINTS}
METRIC = re.compile(r"\babound_[a-z_]+\b")


def read(name):
    return (DEPLOY / name).read_text(encoding="utf-8")


def unit(name):
    parsed = configparser.RawConfigParser(strict=False, interpolation=None)
    parsed.optionxform = str
    parsed.read_string(read(name))
    return parsed


def variables(text):
    """Return the options that variables such as ABOUND_SERVE_PORT name."""
    return {name.lower() for name in re.findall(r"ABOUND_SERVE_([A-Z_]+)", text)}


def test_the_example_configuration_has_every_option():
    settings = tomllib.loads(read("abound.toml"))
    assert settings.keys() <= NAMES
    shown = tomllib.loads(re.sub(r"^#(?=[a-z_]+ = )", "", read("abound.toml"), flags=re.MULTILINE))
    assert shown.keys() == NAMES


def test_compose_gives_the_container_only_what_it_needs():
    compose = yaml.safe_load(read("compose.yaml"))
    service = compose["services"]["abound"]
    assert variables(" ".join(service["environment"])) == {name[13:].lower() for name in service["environment"]}
    assert variables(" ".join(service["environment"])) <= NAMES
    assert all(isinstance(value, str) for value in service["environment"].values())
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["command"][0] == "serve"
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
    assert {mount.partition(":")[0] for mount in service["volumes"]} == compose["volumes"].keys()


def test_kubernetes_names_options_probes_and_volumes_that_exist():
    parts = {part["kind"]: part for part in yaml.safe_load_all(read("kubernetes.yaml"))}
    assert parts.keys() == {"ConfigMap", "Service", "StatefulSet"}
    assert tomllib.loads(parts["ConfigMap"]["data"]["abound.toml"]).keys() <= NAMES
    pod = parts["StatefulSet"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert parts["StatefulSet"]["spec"]["replicas"] == 1
    paths = {container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")}
    assert paths == {"/startupz", "/healthz", "/readyz"}
    assert paths <= PATHS
    assert {argument[2:].replace("-", "_") for argument in container["args"] if argument.startswith("--")} <= OPTIONS
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert pod["securityContext"]["runAsNonRoot"]
    claims = {claim["metadata"]["name"] for claim in parts["StatefulSet"]["spec"]["volumeClaimTemplates"]}
    volumes = {volume["name"] for volume in pod["volumes"]} | claims
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes


def test_container_files_agree_on_the_user_and_the_port():
    dockerfile = read("Dockerfile")
    (user,) = re.findall(r"^USER (\d+):\1$", dockerfile, flags=re.MULTILINE)
    pod = next(part for part in yaml.safe_load_all(read("kubernetes.yaml")) if part["kind"] == "StatefulSet")
    assert str(pod["spec"]["template"]["spec"]["securityContext"]["runAsUser"]) == user
    assert re.findall(r"^EXPOSE (\d+)$", dockerfile, flags=re.MULTILINE) == ["8000"]
    assert variables(dockerfile) <= NAMES
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, flags=re.MULTILINE)
    for name in " ".join(copied).split():
        assert (ROOT / name).exists(), name
        assert f"!{name}\n" in read("Dockerfile.dockerignore")


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="hadolint is not installed")
def test_the_dockerfile_has_no_faults():
    found = subprocess.run(["hadolint", DEPLOY / "Dockerfile"], capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (0, "")


def test_the_packages_of_the_image_are_those_of_development():
    """Test that the image has the versions that the tests ran with, and all packages of its extras."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    entry = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)
    texts = {name: (ROOT / "requirements" / f"{name}.txt").read_text() for name in ("server", "dev")}
    image, development = ({*entry.findall(text)} for text in texts.values())
    assert image <= development
    assert texts["server"].count("--hash=sha256:") >= len(image)
    assert "://" not in texts["server"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = ("cli", "documents", "parquet", "server", "skos", "zstd")
    wanted = [*project["dependencies"], *(line for name in extras for line in project["optional-dependencies"][name])]
    locked = {canonicalize_name(name) for name, _ in image}
    assert {canonicalize_name(Requirement(line).name) for line in wanted} <= locked


def test_units_name_files_and_options_that_exist():
    service = unit("abound.service")
    assert service["Service"]["ExecReload"] == "/bin/kill -USR2 $MAINPID"
    words = service["Service"]["ExecStart"].split()
    assert words[1] == "serve"
    assert {word[2:].replace("-", "_") for word in words if word.startswith("--")} <= OPTIONS
    assert service["Unit"]["Requires"] == "abound.socket"
    settings = tomllib.loads(read("abound.toml"))
    assert unit("abound.socket")["Socket"]["ListenStream"] == f"{settings['host']}:{settings['port']}"
    home = unit("abound-backup.service")["Service"]["ExecStart"].split()[2]
    assert home == f"{settings['models'][0]}.served"
    assert unit("abound-backup.timer")["Timer"]["OnCalendar"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_units(tmp_path):
    for file in DEPLOY.glob("abound*.*"):
        if file.suffix in (".service", ".socket", ".timer"):
            # The program is not installed here.
            text = file.read_text().replace("/opt/abound/bin/abound", "/bin/true")
            (tmp_path / file.name).write_text(text)
    units = sorted(map(str, tmp_path.iterdir()))
    checked = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=20"]  # of 100, which is 2.0 of 10
    rated = subprocess.run([*command, tmp_path / "abound.service"], capture_output=True, text=True)
    assert rated.returncode == 0, rated.stdout[-200:]


@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    if sys.platform == "win32":
        pytest.skip("the server is stopped by a signal")
    tagger = Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]])
    home = Home.create(tmp_path_factory.mktemp("served") / "home", tagger)
    with Running(home.path, "--workers", 2, "--second-opinion", "http://127.0.0.1:9/score") as server:
        text = fetch(server, "/metrics").decode()
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, flags=re.MULTILINE))
    parts = {"histogram": ("_bucket", "_sum", "_count")}
    return {name + part for name, kind in kinds.items() for part in parts.get(kind, ("",))}


def test_the_dashboard_shows_every_metric_and_no_other(metrics):
    dashboard = json.loads(read("grafana-dashboard.json"))
    targets = [target for panel in dashboard["panels"] for target in panel.get("targets", ())]
    asked = {name for target in targets for name in METRIC.findall(target["expr"])}
    assert asked <= metrics
    assert {re.sub("_(bucket|sum|count)$", "", name) for name in metrics} == {
        re.sub("_(bucket|sum|count)$", "", name) for name in asked
    }
    assert {variable["name"] for variable in dashboard["templating"]["list"]} == {"datasource", "instance"}
    assert all('instance=~"$instance"' in target["expr"] for target in targets)
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_alerts_ask_for_metrics_that_exist(metrics):
    (group,) = yaml.safe_load(read("alerts.yml"))["groups"]
    for rule in group["rules"]:
        assert set(METRIC.findall(rule["expr"])) <= metrics, rule["alert"]
        assert rule["alert"].startswith("Abound")
        assert rule["annotations"].keys() == {"summary", "description"}
    assert yaml.safe_load(read("prometheus.yml"))["rule_files"] == ["alerts.yml"]


@pytest.mark.parametrize("name", sorted(path.name for path in DEPLOY.iterdir() if path.is_file()))
def test_the_guide_names_every_file(name):
    assert f"deploy/{name}" in (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
