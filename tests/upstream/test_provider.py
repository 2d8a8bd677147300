"""Which client calls which model, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

import aiohttp
import pytest

from proxy.errors import ConfigError, UpstreamError
from proxy.upstream.endpoint import Endpoint
from proxy.upstream.http import HTTPUpstream
from proxy.upstream.provider import Client, is_openai_compatible, make_upstream
from proxy.upstream.transport import from_exception, kind

BASE = "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("model", "api_base", "compatible"),
    [
        ("openai/gpt-4o-mini", None, True),
        ("openai/gpt-4o-mini", BASE, True),
        ("hosted_vllm/Qwen/Qwen3-8B", BASE, True),
        ("hosted_vllm/Qwen/Qwen3-8B", None, False),
        ("lm_studio/m", BASE, True),
        ("openai_like/m", BASE, True),
        ("custom_openai/m", BASE, True),
        ("some-model", BASE, True),
        ("gpt-4o-mini", None, False),
        ("anthropic/claude", None, False),
        ("anthropic/claude", BASE, False),
        ("ollama/llama3.2", BASE, False),
        ("vouch/demo", None, False),
    ],
)
def test_what_the_direct_client_can_call(model: str, api_base: str | None, compatible: bool) -> None:
    assert is_openai_compatible(model, api_base) is compatible


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("openai/gpt-4o", "gpt-4o"),
        ("hosted_vllm/Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("plain", "plain"),
    ],
)
def test_the_name_that_the_server_knows(model: str, name: str) -> None:
    assert Endpoint(model).served_model == name


def test_openai_itself_is_called_with_the_key_of_the_environment() -> None:
    llm = make_upstream(Endpoint("openai/m"), environ={"OPENAI_API_KEY": "sk-env"})
    assert isinstance(llm, HTTPUpstream)
    assert "https://api.openai.com/v1" in repr(llm)
    assert llm._endpoint.api_key == "sk-env"
    other = make_upstream(Endpoint("openai/m", BASE), environ={"OPENAI_API_KEY": "sk-env"})
    assert isinstance(other, HTTPUpstream)
    assert other._endpoint.api_key is None


@pytest.mark.parametrize(
    ("model", "client", "name"),
    [
        ("openai/m", "auto", "HTTPUpstream"),
        ("openai/m", "litellm", "LiteLLMUpstream"),
        ("anthropic/m", "auto", "LiteLLMUpstream"),
        ("ollama/m", "http", "HTTPUpstream"),
    ],
)
def test_the_client_that_was_asked_for(model: str, client: Client, name: str) -> None:
    assert type(make_upstream(Endpoint(model, BASE), client)).__name__ == name


def test_the_direct_client_without_an_address_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="api_base of ollama/m"):
        make_upstream(Endpoint("ollama/m"), "http")


def test_the_direct_client_does_not_import_litellm() -> None:
    code = (
        "import sys; from proxy.upstream.provider import make_upstream as m;"
        "from proxy.upstream.endpoint import Endpoint as E; m(E('openai/m', 'http://h/v1'));"
        "sys.exit('litellm' in sys.modules or 'torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


CLIENT_ERRORS = sorted(
    (
        error
        for error in vars(aiohttp.client_exceptions).values()
        if isinstance(error, type) and issubclass(error, aiohttp.ClientError)
    ),
    key=lambda error: error.__name__,
)


@pytest.mark.parametrize("error", [error for error in CLIENT_ERRORS if error is not aiohttp.ClientError])
def test_each_of_aiohttps_errors_is_mapped(error: type[Exception]) -> None:
    assert kind(error) is not kind(aiohttp.ClientError)


def test_there_are_errors_to_map() -> None:
    assert len(CLIENT_ERRORS) > 20


def test_an_error_that_aiohttp_may_get_later_is_still_one_of_ours() -> None:
    assert type(from_exception(aiohttp.ClientError("x"), Endpoint("m"))) is UpstreamError
