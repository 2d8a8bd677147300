"""The LLM behind the tables: found, asked once, kept on disk, counted."""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path

import pytest

from evaluation.arguments import add_checker_arguments
from evaluation.cached_llm import Meter, cost
from evaluation.judges import add_llm_arguments, asked_upstream, in_order, open_judge, open_llm
from proxy.config.checker_settings import Checker as CheckerSettings
from proxy.config.settings import Settings
from proxy.config.settings import Upstream as UpstreamSettings
from proxy.errors import ConfigError, UpstreamError
from proxy.types import Chat, Json, Pair, Usage, Verdict
from tests.scripted_upstream import Raw, Reply, Status, Upstream

HI: Json = {"messages": [{"role": "user", "content": "hi"}]}


def options(folder: Path, *arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_checker_arguments(parser)
    add_llm_arguments(parser)
    return parser.parse_args(["--cache", str(folder / "kept"), *arguments])


def settings(upstream: Upstream, **more: object) -> Settings:
    given = {"model": "openai/judge", "api_base": upstream.url, "max_retries": 0, **more}
    return Settings(upstreams=(UpstreamSettings.model_validate(given),))


async def ask(settings: Settings, options: argparse.Namespace, body: Json) -> tuple[str, Meter]:
    async with open_llm(settings, options) as asked:
        reply = await asked.llm.complete(Chat(body))
        return reply.drafts[0].text, asked.meter


def kept(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "kept").rglob("*") if path.is_file())


async def test_an_answer_is_asked_for_once_and_kept(upstream: Upstream, tmp_path: Path) -> None:
    given = options(tmp_path)
    text, first = await ask(settings(upstream), given, HI)
    again, second = await ask(settings(upstream), given, HI)
    assert text == again == "Echo: hi"
    assert len(upstream.requests) == 1
    assert (first.calls, first.cached, first.usage) == (1, 0, Usage(1, 2))
    assert (second.calls, second.cached, second.usage, second.saved) == (0, 1, Usage(), Usage(1, 2))
    assert [path.suffix for path in kept(tmp_path)] == [".json"]


async def test_another_body_model_or_parameter_is_another_question(
    upstream: Upstream, tmp_path: Path
) -> None:
    given = options(tmp_path)
    await ask(settings(upstream), given, HI)
    await ask(settings(upstream), given, {**HI, "temperature": 1})
    await ask(settings(upstream, model="openai/other"), given, HI)
    await ask(settings(upstream, params={"seed": 1}), given, HI)
    assert len(upstream.requests) == len(kept(tmp_path)) == 4


async def test_another_server_or_client_is_not_answered_for_by_what_the_first_one_said(
    upstream: Upstream, tmp_path: Path
) -> None:
    upstream.answer = lambda _: "First"
    given = options(tmp_path)
    await ask(settings(upstream), given, HI)
    with Upstream() as other:
        other.answer = lambda _: "Second"
        assert (await ask(settings(other), given, HI))[0] == "Second"
        assert (await ask(settings(upstream, client="litellm", api_key="any"), given, HI))[1].calls == 1
        assert (await ask(settings(other, api_key="another", timeout=9), given, HI))[1].cached == 1


@pytest.mark.parametrize(
    "broken", [b"", b"{", b"[]", b"{}", b"\xff", b'{"key": "another", "reply": {"choices": []}}']
)
async def test_what_is_no_answer_is_asked_for_again_and_replaced(
    upstream: Upstream, tmp_path: Path, broken: bytes
) -> None:
    given = options(tmp_path)
    await ask(settings(upstream), given, HI)
    (path,) = kept(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(broken)
    text, meter = await ask(settings(upstream), given, HI)
    assert (text, meter.calls, meter.cached) == ("Echo: hi", 1, 0)
    assert path.read_bytes() == whole


async def test_a_kept_reply_that_lost_its_choices_is_asked_for_again(
    upstream: Upstream, tmp_path: Path
) -> None:
    given = options(tmp_path)
    await ask(settings(upstream), given, HI)
    (path,) = kept(tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "reply": {"choices": []}}))
    text, _ = await ask(settings(upstream), given, HI)
    assert text == "Echo: hi"


async def test_failures_and_empty_answers_are_not_kept(upstream: Upstream, tmp_path: Path) -> None:
    given = options(tmp_path)
    upstream.enqueue(Status(500), Raw(b"{not json"), Reply("  "))
    async with open_llm(settings(upstream), given) as asked:
        for _ in range(2):
            with pytest.raises(UpstreamError):
                await asked.llm.complete(Chat(HI))
        await asked.llm.complete(Chat(HI))
        assert kept(tmp_path) == []
        assert (await asked.llm.complete(Chat(HI))).drafts[0].text == "Echo: hi"
        assert (asked.meter.calls, asked.meter.failed) == (2, 2)
    assert len(kept(tmp_path)) == 1


async def test_a_folder_that_cannot_be_written_is_named(upstream: Upstream, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    with pytest.raises(ConfigError, match="kept can't be made"):
        await ask(settings(upstream), options(tmp_path), HI)


async def test_streams_pass_by(upstream: Upstream, tmp_path: Path) -> None:
    async with open_llm(settings(upstream), options(tmp_path)) as asked:
        chunks = [chunk async for chunk in asked.llm.stream(Chat({**HI, "stream": True}))]
        deltas = [choice["delta"] for chunk in chunks for choice in chunk.raw["choices"]]
        assert "".join(delta.get("content") or "" for delta in deltas) == "Echo: hi"
        assert asked.meter.calls == 0


async def test_a_model_elsewhere_is_called_with_the_key_in_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    with Upstream(api_key="secret") as upstream:
        place = ["--model", "openai/gpt-4o-mini", "--api-base", upstream.url, "--api-key-env", "MY_KEY"]
        text, meter = await ask(Settings(), options(tmp_path, *place), HI)
    assert (text, meter.model) == ("Echo: hi", "openai/gpt-4o-mini")


def test_a_model_is_an_upstream_of_the_settings_by_its_name(tmp_path: Path) -> None:
    upstreams = (
        UpstreamSettings(model="openai/first", name="a", api_base="http://127.0.0.1:1/v1"),
        UpstreamSettings(model="openai/second", name="b", api_base="http://127.0.0.1:1/v1"),
    )
    given = Settings(upstreams=upstreams)
    assert asked_upstream(given, options(tmp_path)).name == "a"
    assert asked_upstream(given, options(tmp_path, "--model", "b")).name == "b"
    judging = given.model_copy(
        update={
            "checker": CheckerSettings(llm=given.checker.llm.model_copy(update={"model": "b"})),
        }
    )
    assert asked_upstream(judging, options(tmp_path)).name == "b"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "answers from the corpus and is no LLM"),
        (["--model", "gpt"], "'gpt' is no upstream; there are"),
        (["--model", "openai/gpt-4o-mini"], "needs a key: set OPENAI_API_KEY"),
        (["--model", "x", "--api-base", "http://a/v1", "--api-key-env", "NO"], "NO, which is not set"),
    ],
)
def test_a_model_that_cannot_be_asked_is_refused(tmp_path: Path, arguments: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        asked_upstream(Settings(), options(tmp_path, *arguments), {})


def test_tokens_are_priced_where_litellm_knows_the_model() -> None:
    spent = Usage(1_000_000, 0)
    known = cost("openai/gpt-4o-mini", spent)
    assert known is not None
    assert known > 0
    assert cost("gpt-4o-mini", spent) == known
    assert cost("openai/judge", spent) is None
    assert cost("openai/judge", Usage()) == 0.0
    meter = Meter("openai/judge", calls=2, failed=1, usage=spent)
    assert "2 calls" in meter.as_markdown()
    assert "at a price that litellm does not know" in meter.as_markdown()
    assert "1 failed" in meter.as_markdown()
    assert meter.as_json()["cost"] is None


async def test_a_judge_without_an_llm_asks_none(tmp_path: Path) -> None:
    async with open_judge(Settings(), options(tmp_path, "--checker", "builtin")) as judge:
        (judgement,) = await judge.checker.check([Pair("Elm has 20 mills.", "Elm has 20 mills.")])
    assert judgement.verdict is Verdict.SUPPORTED
    assert judge.meter is None


async def test_an_llm_judge_asks_through_the_cache(upstream: Upstream, tmp_path: Path) -> None:
    upstream.answer = lambda _: "Answer: Factual"
    for calls in (1, 0):
        async with open_judge(settings(upstream), options(tmp_path, "--checker", "llm")) as judge:
            (judgement,) = await judge.checker.check([Pair("Elm has 20 mills.", "Elm has 20 mills.")])
            assert judgement.verdict is Verdict.SUPPORTED
            assert judge.meter is not None
            assert judge.meter.calls == calls


async def test_work_is_done_in_order_and_only_so_much_at_once() -> None:
    under_way = most = 0

    async def work(item: int) -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return item * 2

    assert await in_order(range(20), work, 3, "work") == [item * 2 for item in range(20)]
    assert most == 3


async def test_the_first_failure_ends_the_work() -> None:
    done: list[int] = []

    async def work(item: int) -> None:
        if item == 1:
            raise UpstreamError("gone")
        await asyncio.sleep(0.01 * item)
        done.append(item)

    with pytest.raises(UpstreamError, match="gone"):
        await in_order(range(50), work, 2, "work")
    assert len(done) < 3
