"""Settings: the file, the environment, and what is said when they are wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from proxy.config.checker_settings import CheckerName
from proxy.config.load import load
from proxy.config.masked import dump
from proxy.config.settings import Settings, Upstream
from proxy.errors import ConfigError

CONFIG = Path(__file__).parents[2] / "config.yaml"


def leaves(tree: object, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """Paths of all values; entries of a list share one."""
    if isinstance(tree, dict) and tree:
        return {leaf for key, value in tree.items() for leaf in leaves(value, (*path, key))}
    if isinstance(tree, list) and tree:
        return {leaf for value in tree for leaf in leaves(value, path)}
    return {path}


def write(folder: Path, text: str) -> Path:
    path = folder / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_file_holds_every_setting_with_its_default() -> None:
    assert load(CONFIG, environ={}) == Settings()
    assert leaves(yaml.safe_load(CONFIG.read_text())) == leaves(Settings().model_dump(mode="json"))


def test_every_setting_in_the_file_has_a_comment() -> None:
    bare = [
        line
        for line in CONFIG.read_text().splitlines()
        if re.match(r"\s+(- )?\w+: \S", line) and not re.search(r"\s#\s\S", line)
    ]
    assert bare == []


def test_without_file_and_environment_the_defaults_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load(environ={}) == Settings()


def test_a_file_in_the_current_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "server: {port: 9001}")
    monkeypatch.chdir(tmp_path)
    assert load(environ={}).server.port == 9001


def test_environment_overrides_the_file_and_the_command_line_both(tmp_path: Path) -> None:
    path = write(tmp_path, "server: {port: 1, host: a, public_url: http://x}")
    environ = {"VOUCH_SERVER__PORT": "2", "VOUCH_SERVER__HOST": "b"}
    server = load(path, {"server": {"host": "c"}}, environ).server
    assert (server.port, server.host, server.public_url) == (2, "c", "http://x")


def test_the_environment_reaches_into_the_list_of_upstreams(tmp_path: Path) -> None:
    path = write(tmp_path, "upstreams: [{model: openai/gpt-4o-mini}]")
    environ = {
        "VOUCH_UPSTREAMS__0__API_BASE": "http://127.0.0.1:1/v1",
        "VOUCH_UPSTREAMS__1__MODEL": "vouch/demo",
    }
    first, second = load(path, environ=environ).upstreams
    assert (first.name, first.api_base, second.name) == ("gpt-4o-mini", "http://127.0.0.1:1/v1", "vouch/demo")


def test_the_name_of_an_upstream_follows_the_model_that_a_later_source_gives(tmp_path: Path) -> None:
    environ = {"VOUCH_UPSTREAMS__0__MODEL": "openai/gpt-4o-mini"}
    unnamed = write(tmp_path, "upstreams: [{model: vouch/extractive, timeout: 7}]")
    assert load(unnamed, environ=environ).upstreams == (Upstream(model="openai/gpt-4o-mini", timeout=7),)
    for path in (write(tmp_path, ""), CONFIG):
        first, second = load(path, environ=environ).upstreams
        assert (first.model, first.name, second.name) == ("openai/gpt-4o-mini", "gpt-4o-mini", "vouch/demo")
    named = write(tmp_path, "upstreams: [{model: a/b, name: mine}]")
    assert load(named, environ=environ).upstreams[0].name == "mine"


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ("checker.llm", "params"),
        ("claims.extractor", "params"),
        ("retrieval.milvus", "index_params"),
        ("retrieval.milvus", "search_params"),
    ],
)
def test_a_free_mapping_takes_the_place_of_the_one_before(tmp_path: Path, section: str, key: str) -> None:
    outer, inner = section.split(".")
    path = write(tmp_path, f"{outer}: {{{inner}: {{{key}: {{a: 1, b: 2}}}}}}")
    variable = f"VOUCH_{outer}__{inner}__{key}".upper()

    def params(environ: dict[str, str]) -> object:
        return getattr(getattr(getattr(load(path, environ=environ), outer), inner), key)

    assert params({}) == {"a": 1, "b": 2}
    assert params({variable: "{c: 3}"}) == {"c": 3}
    assert params({f"{variable}__B": "3", f"{variable}__C__D": "4"}) == {"a": 1, "b": 3, "c": {"d": 4}}


def test_mappings_of_names_are_merged_by_name(tmp_path: Path) -> None:
    path = write(tmp_path, "indexes: {a: x, b: y}")
    settings = load(path, {"indexes": {"c": "w"}}, {"VOUCH_INDEXES__B": "z"})
    assert settings.indexes == {"a": "x", "b": "z", "c": "w"}


def test_the_settings_that_are_printed_are_read_as_the_same(tmp_path: Path) -> None:
    text = (
        "upstreams: [{model: openai/o, params: {a: 1}}, {model: vouch/demo}]\n"
        "checker: {llm: {params: {max_completion_tokens: 9}}}\n"
        "retrieval: {threshold: 0.5, milvus: {search_params: {}}}\n"
    )
    settings = load(write(tmp_path, text), environ={})
    printed = dump(settings)
    assert load(write(tmp_path, printed), environ={}) == settings
    assert leaves(Settings().model_dump(mode="json")["server"]) == leaves(yaml.safe_load(printed)["server"])


@pytest.mark.parametrize("service", ["VOUCH", "VOUCH_WEB_2"])
def test_variables_that_kubernetes_makes_of_services_set_nothing(service: str) -> None:
    address = "tcp://10.0.0.7:80"
    links = {
        "SERVICE_HOST": "10.0.0.7",
        "SERVICE_PORT": "80",
        "SERVICE_PORT_HTTP": "80",
        "PORT": address,
        "PORT_80_TCP": address,
        "PORT_80_TCP_PROTO": "tcp",
        "PORT_80_TCP_PORT": "80",
        "PORT_80_TCP_ADDR": "10.0.0.7",
    }
    assert load(environ={f"{service}_{name}": value for name, value in links.items()}) == load(environ={})


def test_a_value_that_looks_like_a_date_and_is_none_is_text() -> None:
    assert load(environ={"VOUCH_SERVER__HOST": "2024-02-30"}).server.host == "2024-02-30"


def test_a_value_may_be_referred_to_behind_its_end(tmp_path: Path) -> None:
    path = write(tmp_path, "server: {hosts: &a [x], cors_origins: *a}")
    server = load(path, environ={}).server
    assert server.hosts == server.cors_origins == ("x",)


def test_keys_that_are_merged_into_a_section_may_be_set_there_again(tmp_path: Path) -> None:
    path = write(tmp_path, "indexes: {<<: {b: x}, b: y}")
    assert load(path, environ={}).indexes == {"b": "y"}


def test_keys_come_from_the_environment_and_are_masked_when_printed(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "upstreams: [{model: openai/x, api_key: '${MY_KEY}', api_base: 'http://me:pass@host/v1'}]\n"
        "server: {public_url: '${NOT_SET:-http://here}'}",
    )
    settings = load(path, environ={"MY_KEY": "sk-secret"})
    key = settings.upstreams[0].api_key
    assert key is not None
    assert key.get_secret_value() == "sk-secret"
    assert settings.server.public_url == "http://here"
    assert "sk-secret" not in dump(settings) + repr(settings)
    assert "me:pass" not in dump(settings)


def test_secrets_among_the_parameters_of_a_model_are_masked_when_printed(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "aws_secret_access_key": "hush-1",
        "azure_ad_token": "hush-2",
        "extra_headers": {"X-Tokens": 5318008, "X-Team": "hush-3", "Authorization": "Bearer hush-4"},
        "extra_body": {"steps": [{"Password": 5318008, "seen": "by all"}], "code": "is ${CODE}"},
        "vertex_credentials": {"kind": "hush-5"},
        "headers": [["Authorization", "Bearer hush-8"]],
        "pwd": "hush-9",
        "url": "https://host/x?api_key=hush-10&page=2",
        "max_tokens": 300,
        "stop_token_ids": [1, 2],
        "stop": ["${NOT_SET:-END}"],
        "keyword": "open",
        "temperature": 0,
        "use_api_key": True,
    }
    sections = {
        "upstreams": [{"model": "openai/x", "params": given}],
        "checker": {"llm": {"params": {"api_key": "hush-6"}}},
    }
    settings = load(write(tmp_path, yaml.safe_dump(sections)), environ={"CODE": "hush-7"})
    printed = dump(settings)
    assert not re.search("hush|5318008", printed)
    mask = "*" * 10
    assert yaml.safe_load(printed)["upstreams"][0]["params"] == given | {
        "aws_secret_access_key": mask,
        "azure_ad_token": mask,
        "extra_headers": {"X-Tokens": mask, "X-Team": mask, "Authorization": mask},
        "extra_body": {"steps": [{"Password": mask, "seen": "by all"}], "code": mask},
        "vertex_credentials": {"kind": mask},
        "headers": [[mask, mask]],
        "pwd": mask,
        "url": f"https://host/x?api_key={mask}&page=2",
        "stop": ["END"],
    }
    assert settings.upstreams[0].params["extra_body"] == {**given["extra_body"], "code": "is hush-7"}


@pytest.mark.parametrize(
    ("text", "environ", "message"),
    [
        ("servr: {port: 1}", {}, "servr is an unknown key; did you mean 'server'?"),
        ("server: {prot: 1}", {}, "server.prot is an unknown key; did you mean 'port'?"),
        (
            "upstreams: [{model: a/b, api_bas: x}]",
            {},
            "upstreams.0.api_bas is an unknown key; did you mean 'api_base'?",
        ),
        ("checker: {llm: {promt: ceg}}", {}, "checker.llm.promt is an unknown key; did you mean 'prompt'?"),
        ("retrieval: {zzz: 1}", {}, "there are evidence, mode, top_k"),
        ("", {"VOUCH_SERVER__PROT": "1"}, "VOUCH_SERVER__PROT (server.prot) is an unknown key"),
        ("", {"VOUCH_PORT": "1"}, "VOUCH_PORT (port) is an unknown key; did you mean VOUCH_SERVER__PORT?"),
        ("", {"VOUCH_SERVER__PORT": "tcp://h:1"}, "must be a whole number"),
        ("", {"VOUCH_SERVER_PORT": "1"}, "VOUCH_SERVER_PORT (server_port) is an unknown key; did you mean V"),
        ("", {"VOUCH_CONFG": "a"}, "VOUCH_CONFG (confg) is an unknown key; did you mean VOUCH_CONFIG?"),
        (
            "upstreams: [{model: a/b}]",
            {"VOUCH_UPSTREAMS__0__API_BAS": "1"},
            "is an unknown key; did you mean VOUCH_UPSTREAMS__0__API_BASE?",
        ),
        (
            "server: {port: 1}\nindex: {path: a}\nserver: {host: b}",
            {},
            "the key server is there twice, in lines 1 and 3; keep one",
        ),
        ("server:\n  port: 1\n  port: 2", {}, "the key port is there twice, in lines 2 and 3; keep one"),
        (
            "server:\n  hosts: &a [*a]",
            {},
            "is not valid YAML: *a in line 2 refers to a value that it is a part of",
        ),
        ("a: &a {b: {c: *a}}", {}, "is not valid YAML: *a in line 1"),
        (f"a: {'[' * 5000}", {}, "config.yaml is not valid YAML for settings: it is nested too deeply."),
        (
            "",
            {"VOUCH_SERVER__HOSTS": "&a [*a]"},
            "VOUCH_SERVER__HOSTS (server.hosts) must be a list, not '&a",
        ),
        ("retrieval: {threshold: .nan}", {}, "threshold must be a finite number or 'auto', not nan"),
        ("verification: {deadline: .inf}", {}, "verification.deadline must be a finite number, not inf"),
        (
            "limits: {options: {deadline: .inf}}",
            {},
            "options.deadline must be a finite number or 'fixed', not inf",
        ),
        ("server: {host: 2024-02-30}", {}, "config.yaml is not valid YAML: day is out of range for month"),
        ("server: {host: {a: 1}}", {}, "server.host must be text, not a mapping"),
        (
            "upstreams: [{model: a/b, api_base: 'localhost:11434/v1'}]",
            {},
            "upstreams.0.api_base must be an address that begins with http:// or https://",
        ),
        ("upstreams: x", {}, "upstreams must be a list, not 'x'"),
        ("", {"VOUCH_SERVER": "1"}, "VOUCH_SERVER (server) must be a section with keys of its own, not 1"),
        (
            "",
            {"VOUCH_CHECKER__CASCADE__STEPS": "[llm, xx]"},
            "VOUCH_CHECKER__CASCADE__STEPS (checker.cascade.steps.1.name) must be 'nli', ",
        ),
        (
            "",
            {"VOUCH_SERVER": "1", "VOUCH_SERVER__PORT": "1"},
            "PORT sets a key of a section that another variable sets",
        ),
        ("server: {port: many}", {}, "server.port must be a whole number, not 'many'"),
        ("server: {heartbeat: 60}", {}, "server.heartbeat must be at most 15.0, not 60"),
        ("upstreams: []", {}, "upstreams must be a list with at least 1 entry, not an empty list"),
        ("upstreams: [{name: x}]", {}, "upstreams.0.model is missing"),
        ("retrieval: {threshold: high}", {}, "retrieval.threshold must be a number or 'auto', not 'high'"),
        ("checker: {cascade: {steps: [{name: llm, sure: 1}]}}", {}, "steps.0.sure must be a list, not 1"),
        ("checker: {cascade: {steps: [{name: llm, sure: [1]}]}}", {}, "sure has too few entries"),
        ("verification: {fail_closed: maybe}", {}, "fail_closed must be true or false, not 'maybe'"),
        ("checker: {llm: {params: 5}}", {}, "llm.params must be a mapping of names to values, not 5"),
        ("upstreams: [{model: a/x}, {model: b/x}]", {}, "two upstreams are named 'x'"),
        ("checker: {llm: {model: nobody}}", {}, "checker.llm.model names no upstream: 'nobody'"),
        (
            "checker: {name: cross_encoder}",
            {},
            "checker uses cross_encoder, but checker.cross_encoder.model is not set",
        ),
        ("checker: {name: cascade}", {}, "but checker.cascade.steps is not set"),
        ("checker: {cascade: {steps: [llm, repc]}}", {}, "but checker.repc.model is not set"),
        ("checker: {cascade: {steps: [llm, {name: llm}]}}", {}, "checker.cascade has the step llm twice"),
        ("checker: {cascade: {steps: [cascade]}}", {}, "checker.cascade.steps.0.name must be 'n"),
        ("checker: {cascade: {steps: [{name: llm, sur: [0, 1]}]}}", {}, "did you mean 'sure'?"),
        ("checker: {cascade: {steps: [{name: llm, sure: [1, 0]}]}}", {}, "needs `sure` to be [low, high]"),
        ("checker: {repc: {model: x}}", {}, "needs both `model` and `classifier`"),
        ("checker: {cross_encoder: {labels: [neutral]}}", {}, "needs `entailment` exactly once"),
        ("checker: {cross_encoder: {overlap: 300}}", {}, "needs an `overlap` of at most half"),
        (
            "upstreams: [{model: a/x, api_key: '${NO_KEY}'}]",
            {},
            "variable NO_KEY, which is not set",
        ),
        ("- a list", {}, "must hold sections"),
        ("a: [", {}, "is not valid YAML"),
        ("", {"VOUCH_UPSTREAMS__5__MODEL": "a/b"}, ""),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, environ: dict[str, str], message: str) -> None:
    if not message:
        text, message = "upstreams: [{model: a/b}]", "There is no entry 5 in a list of 1"
    with pytest.raises(ConfigError, match=re.escape(message)):
        load(write(tmp_path, text), environ=environ)


@pytest.mark.parametrize("filters", ["filter: a", "filters: {staff: ''}", "filters: {staff: b}"])
def test_with_filters_in_milvus_each_index_needs_one(tmp_path: Path, filters: str) -> None:
    def named(milvus: str, store: str = "milvus") -> set[str]:
        text = f"retrieval: {{store: {store}, milvus: {{{milvus}}}}}\nindexes: {{staff: a, partners: a}}"
        return set(load(write(tmp_path, text), environ={}).indexes)

    with pytest.raises(ConfigError, match=r"the index '(staff|partners)' has no filter: write `\1: EXPR"):
        named(filters)
    complete = named("filter: a, filters: {staff: '', partners: b}")
    assert complete == named("") == named(filters, store="faiss") == {"staff", "partners"}


def test_a_list_is_not_called_too_short_for_its_wrong_entries_and_no_secret_is_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(
            write(tmp_path, "upstreams: [{model: a/b, api_key: 5318}]\nserver: {api_keys: hush}"), environ={}
        )
    told = caught.value.message
    assert told.endswith("server.api_keys must be a list; upstreams.0.api_key must be text")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"No such file: .*nothing\.yaml"):
        load(tmp_path / "nothing.yaml")


def test_only_checkers_whose_settings_are_given_can_be_asked_for(tmp_path: Path) -> None:
    assert Settings().checker.configured == ("nli", "llm")
    text = (
        "checker: {cross_encoder: {model: a/nli}, repc: {model: m, classifier: c}, "
        "cascade: {steps: [nli, {name: repc, sure: [0, 1]}, llm]}}"
    )
    checker = load(write(tmp_path, text), environ={}).checker
    assert checker.configured == get_args(CheckerName)
    assert [(step.name, step.sure) for step in checker.cascade.steps] == [
        ("nli", (0.1, 0.9)),
        ("repc", (0.0, 1.0)),
        ("llm", (0.1, 0.9)),
    ]


def test_a_cascade_can_be_set_in_the_environment() -> None:
    steps = load(environ={"VOUCH_CHECKER__CASCADE__STEPS": "[nli, llm]"}).checker.cascade.steps
    assert [step.name for step in steps] == ["nli", "llm"]
