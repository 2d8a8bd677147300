"""Links to passages: the quote, what stands around it, and signatures where clients need a key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from openai import OpenAI

from proxy.cli import index as index_command
from proxy.cli.compose import Library, load_library
from proxy.config.load import validate
from proxy.config.settings import ApiKey, Server, Settings
from proxy.errors import ConfigError
from proxy.server.reference_links import Signer, signer_of
from tests.scripted_upstream import Upstream
from tests.serving import serving, settings_for

KEY, SECRET = "sk-reader", "a secret of the server, long enough"
CLAIM = "The Larch Lock was opened by nine goats in 1742."
HTML = {"accept": "text/html"}


@pytest.fixture(scope="module")
def canals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A document of several passages and one of another document, both without an address."""
    folder = tmp_path_factory.mktemp("canals")
    around = [
        " ".join(f"Paragraph {number} of the chronicle tells of barge {barge}." for barge in range(16))
        for number in range(4)
    ]
    chronicle = "\n\n".join([*around[:2], CLAIM, *around[2:]])
    rows = [
        {"id": "chronicle", "title": "The chronicle", "text": chronicle},
        {"id": "other", "title": "Other", "text": "Porridge is made of oats."},
    ]
    source = folder / "canals.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    path = folder / "index"
    index_command.run([str(source)], None, {"index": {"path": str(path)}}, strict=True)
    library = load_library(Settings.model_validate({"index": {"path": str(path)}}))
    yield library
    library.close()


@pytest.fixture(scope="module")
def keyed(session_upstream: Upstream, canals: Library) -> Iterator[str]:
    """A server that asks for a key."""
    server = {"api_keys": [KEY], "link_secret": SECRET, "link_lifetime": 3600.0}
    with serving(settings_for(session_upstream.url, server=server), canals) as url:
        yield url


def cited(base_url: str, upstream: Upstream, **options: Any) -> str:
    """The address of the first reference of a reply."""
    upstream.enqueue(CLAIM)
    with OpenAI(base_url=base_url, api_key=KEY, max_retries=0, timeout=30) as client:
        reply = client.chat.completions.create(
            model="test",
            messages=[{"role": "user", "content": "Who opened the Larch Lock?"}],
            extra_body={"vouch": options},
        )
    references = (reply.model_extra or {})["references"]
    assert references[0]["url"] in (reply.choices[0].message.content or "") or "profile" not in options
    return str(references[0]["url"])


def test_a_link_of_a_reply_opens_in_a_browser_that_has_no_key(keyed: str, upstream: Upstream) -> None:
    url = cited(keyed, upstream)
    page = httpx.get(url, headers=HTML)
    assert page.status_code == 200
    assert f"<mark>{CLAIM}</mark>" in page.text
    assert 'class="around" data-side="before"' in page.text
    assert page.headers["referrer-policy"] == "no-referrer"
    assert httpx.get(url).json()["document_id"] == "chronicle"


def test_a_link_works_behind_another_name_and_in_markdown(
    session_upstream: Upstream, canals: Library, upstream: Upstream
) -> None:
    server = {"api_keys": [KEY], "public_url": "https://vouch.example/base"}
    with serving(settings_for(session_upstream.url, server=server), canals) as base_url:
        url = cited(base_url, upstream, profile="markdown")
        assert url.startswith("https://vouch.example/base/v1/references/")
        local = url.replace("https://vouch.example/base/v1", base_url)
        assert httpx.get(local).status_code == 200


def test_a_chat_ui_that_may_frame_passages_is_told_where_they_are(
    session_upstream: Upstream, canals: Library, upstream: Upstream
) -> None:
    chat = "https://chat.example"
    server = {"api_keys": [KEY], "frame_ancestors": [f"{chat}/"]}
    with serving(settings_for(session_upstream.url, server=server), canals) as base_url:
        upstream.enqueue(CLAIM)
        body = {
            "model": "test",
            "messages": [{"role": "user", "content": "Who opened the Larch Lock?"}],
            "vouch": {"profile": "open_webui"},
        }
        with httpx.Client(headers={"authorization": f"Bearer {KEY}"}, timeout=30) as http:
            whole = http.post(f"{base_url}/chat/completions", json=body).json()
            upstream.enqueue(CLAIM)
            streamed = http.post(f"{base_url}/chat/completions", json={**body, "stream": True}).text
        told = [json.loads(line[6:]) for line in streamed.splitlines() if line.startswith("data: {")]
        events = [chunk["event"]["data"] for chunk in told if chunk.get("event", {}).get("type") == "source"]
        assert "page" not in whole["references"][0]
        for source in (*whole["sources"], *events):
            # Open WebUI adds where the frame stands.
            url = f"{source['source']['embed_url']}&chat_id=1&message_id=2&source_id=3"
            page = httpx.get(url, headers=HTML)
            assert f"<mark>{CLAIM}</mark>" in page.text
            assert f"frame-ancestors {chat};" in page.headers["content-security-policy"]
        assert len(events) == len(whole["sources"]) == 1
        expired = httpx.get(f"{url.partition('?')[0]}?expires=1&signature=0", headers=HTML)
        assert expired.status_code == 401
        assert f"frame-ancestors {chat};" in expired.headers["content-security-policy"]
        home = httpx.get(base_url.removesuffix("v1"))
        assert "frame-ancestors 'none'" in home.headers["content-security-policy"]


def test_nobody_frames_passages_unless_the_operator_says_who(keyed: str, upstream: Upstream) -> None:
    url = cited(keyed, upstream)
    assert "frame-ancestors 'none'" in httpx.get(url, headers=HTML).headers["content-security-policy"]
    upstream.enqueue(CLAIM)
    body = {"model": "test@open_webui", "messages": [{"role": "user", "content": "Who opened the lock?"}]}
    whole = httpx.post(
        f"{keyed}/chat/completions", json=body, headers={"authorization": f"Bearer {KEY}"}, timeout=30
    ).json()
    assert "embed_url" not in whole["sources"][0]["source"]


@pytest.mark.parametrize("given", ["*", "chat.example", "https://a.example; script-src *", "'self'", "data:"])
def test_who_may_frame_passages_is_the_origin_of_a_website(given: str) -> None:
    with pytest.raises(ConfigError, match=r"server\.frame_ancestors.*origin of a website"):
        validate({"server": {"frame_ancestors": [given]}})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda url: url.replace("signature=", "signature=0"), "The signature of this link is wrong"),
        (lambda url: url.replace("expires=", "expires=9"), "The signature of this link is wrong"),
        (lambda url: url.partition("&signature")[0], "The API key is missing or wrong"),
        (lambda url: url.partition("?")[0], "The API key is missing or wrong"),
        (lambda url: url + "&a=" + "b" * 2000, "The API key is missing or wrong"),
        (lambda url: url.replace("signature=", "signature=%"), "The API key is missing or wrong"),
        (lambda url: url.replace("/references/", "/references/0"), "The signature of this link is wrong"),
        (lambda url: url.replace("/references/", "/models/"), "The API key is missing or wrong"),
    ],
)
def test_a_changed_link_opens_nothing(keyed: str, upstream: Upstream, change: Any, said: str) -> None:
    refused = httpx.get(change(cited(keyed, upstream)))
    assert refused.status_code == 401
    assert said in refused.json()["error"]["message"]


def test_a_link_admits_to_reading_alone(keyed: str, upstream: Upstream) -> None:
    query = urlsplit(cited(keyed, upstream)).query
    assert httpx.post(f"{keyed}/chat/completions?{query}", json={"messages": []}).status_code == 401
    assert httpx.get(f"{keyed}/models?{query}").status_code == 401


def test_a_reader_of_an_expired_link_is_told_so(keyed: str, upstream: Upstream) -> None:
    passage = urlsplit(cited(keyed, upstream)).path.rsplit("/", 1)[1]
    past = Signer(SECRET.encode(), 60, clock=lambda: 1_000_000.0)
    url = f"{keyed}/references/{passage}?{past.query(passage, past.expiry())}"
    page = httpx.get(url, headers=HTML)
    assert page.status_code == 401
    assert "This link has expired." in page.text
    assert "<mark" not in page.text
    assert "This link has expired." in httpx.get(url).json()["error"]["message"]


def test_links_are_signed_only_where_keys_are_needed(
    session_upstream: Upstream, canals: Library, upstream: Upstream
) -> None:
    with serving(settings_for(session_upstream.url), canals) as base_url:
        assert set(parse_qs(urlsplit(cited(base_url, upstream)).query)) == {"quote"}
    assert signer_of(Server()) is None
    keys = (ApiKey.model_validate(KEY),)
    assert signer_of(Server(api_keys=keys, link_lifetime=0)) is None
    one, two = signer_of(Server(api_keys=keys)), signer_of(Server(api_keys=keys))
    assert one
    assert two
    assert one.secret != two.secret
    assert len(one.secret) >= 32


def test_a_short_secret_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="link_secret"):
        validate({"server": {"link_secret": "short"}})


def test_the_passages_around_are_those_of_the_document(keyed: str, upstream: Upstream) -> None:
    url = cited(keyed, upstream)
    told = httpx.get(f"{url}&around=5").json()
    run = [*told["before"], told, *told["after"]]
    assert len(run) > 2
    assert {each["document_id"] for each in run} == {"chronicle"}
    assert [each["start"] for each in run] == sorted(each["start"] for each in run)
    assert "before" not in httpx.get(url).json()
    for given in ("6", "-1", "x", "", "٣"):
        refused = httpx.get(f"{url}&around={given}")
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "around")
