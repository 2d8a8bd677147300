"""The examples of deployments: what they set are settings, and what they ask for exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from proxy.cli.serve import FAREWELL_SECONDS
from proxy.config.load import load

DEPLOY = Path(__file__).parents[1] / "examples" / "deploy"
KEYS = '[{"name": "app", "key": "k-1234567890123456"}]'


def compose() -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return parsed


def test_the_compose_files_environment_is_of_settings() -> None:
    given = compose()["services"]["vouch"]["environment"]
    environ = {
        name: re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: f"{found[1]}-1234567890123456", value)
        for name, value in given.items()
    }
    settings = load(environ=environ)
    assert [key.name for key in settings.server.api_keys] == ["webui", "prometheus"]
    assert settings.server.public_url == "http://127.0.0.1:8000"


def test_kubernetes_probes_ask_for_routes_that_exist_and_roots_are_read_only() -> None:
    deployment, service = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8"))
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert not pod["enableServiceLinks"], "variables of a service named vouch begin as those of settings"
    paths = {container[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "readiness", "liveness")}
    assert paths == {"/readyz", "/healthz"}
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"]
    assert load(environ={"VOUCH_SERVER__API_KEYS": KEYS}).server.api_keys


def test_replicas_of_kubernetes_sign_links_alike_and_drain_before_they_are_killed() -> None:
    deployment, _ = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8"))
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    given = {entry["name"]: entry.get("value") for entry in container["env"]}
    secret = {
        entry["name"]: entry["valueFrom"]["secretKeyRef"]
        for entry in container["env"]
        if "valueFrom" in entry
    }
    assert secret == {
        "VOUCH_SERVER__LINK_SECRET": {"name": "vouch", "key": "VOUCH_SERVER__LINK_SECRET"},
    }
    server = load(environ={name: value or "a5" * 32 for name, value in given.items()}).server
    assert server.link_secret
    assert server.public_url == "https://vouch.example"
    assert server.drain_delay > 0
    assert server.drain_delay + server.drain + FAREWELL_SECONDS < pod["terminationGracePeriodSeconds"]


def test_the_unit_has_a_user_that_is_there_before_it_starts_and_may_write_the_documented_audit_path() -> None:
    unit = (DEPLOY / "vouch.service").read_text(encoding="utf-8")
    lines = unit.splitlines()
    assert {"User=vouch", "Group=vouch", "LogsDirectory=vouch", "StateDirectory=vouch"} <= {*lines}
    assert "DynamicUser" not in unit, "its group is not there when the files of /etc/vouch are installed"
    assert unit.index("useradd") < unit.index("-g vouch config.yaml")


def test_nothing_that_a_deployment_mounts_is_written_by_vouch() -> None:
    assert compose()["services"]["vouch"]["read_only"]
    assert all(volume.endswith(":ro") for volume in compose()["services"]["vouch"]["volumes"])
