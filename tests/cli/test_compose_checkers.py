"""Settings to checkers: what is loaded, what goes around it, and what is said when it can't be loaded."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest
import torch

from proxy import __main__ as command_line
from proxy import types
from proxy.checkers import nli_sizes
from proxy.cli.compose import use_runtime
from proxy.cli.compose_checkers import load_checkers
from proxy.cli.serve import plans
from proxy.config.checker_settings import Checker as CheckerSettings
from proxy.config.checker_settings import CheckerName
from proxy.config.load import validate
from proxy.config.settings import KeyScope, Runtime
from proxy.errors import ConfigError
from proxy.model_files import device
from proxy.types import Chat, Draft, Pair, Reply, Usage, Verdict
from tests.checkers.tiny import make_classifier
from tests.cli.test_cli import one_line, vouch
from tests.tiny_models import repc_classifier, tiny_encoder

PAIR = Pair("the claim w1 .", "w2 w3 .")
UNSURE = (0.6, 0, 0)  # entailment 0.48
NLI = ("entailment", "neutral", "contradiction")


def checker_settings(**checker: Any) -> CheckerSettings:
    return validate({"checker": checker}).checker


class Factual:
    """An LLM that finds everything factual. Keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Chat] = []

    async def complete(self, chat: Chat) -> Reply:
        self.asked.append(chat)
        return Reply((Draft("Answer: Factual", {}),), Usage(7, 2), {})

    def stream(self, chat: Chat) -> Any:
        raise NotImplementedError


def test_the_command_line_has_the_choices_of_the_settings() -> None:
    assert get_args(command_line.CheckerName) == get_args(CheckerName)
    assert get_args(command_line.DenseChoice) == get_args(types.DenseChoice)
    assert tuple(map(str, command_line.ScopeChoice)) == get_args(KeyScope)


def test_one_setting_decides_how_many_threads_compute() -> None:
    code = (
        "import torch; from proxy.cli.compose import use_runtime; from proxy.config.settings import Runtime; "
        "own = torch.get_num_threads(); use_runtime(Runtime()); print(torch.get_num_threads() == own); "
        "use_runtime(Runtime(threads=3)); print(torch.get_num_threads())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "3"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU that torch can use")
def test_a_device_that_the_machine_lacks_is_refused_with_what_to_do() -> None:
    with pytest.raises(ConfigError, match=r"no cuda device.*runtime\.device to auto or cpu"):
        use_runtime(Runtime(device="cuda"))
    assert device().type == "cpu"


@pytest.mark.parametrize(
    ("checker", "installed", "told"),
    [
        ({}, True, ["checker nli: base for English, small for Chinese",
                    "small would read English .* times as fast .*: checker.nli.size: small"]),
        ({}, False, ["checker nli: small for English and Chinese",
                     r"base .* times the time and .* more memory: pip install 'vouch\[base\]' \(400 MB\)"]),
        ({"nli": {"size": "small"}}, True, ["checker nli: small for English and Chinese",
                                            "base .*: checker.nli.size: auto"]),
        ({"cascade": {"steps": ["nli", "llm"]}, "name": "cascade"}, True,
         ["checker cascade of nli, llm: base for English, small for Chinese", "small .*"]),
        ({"name": "llm"}, True, ["checker llm"]),
    ],
)  # fmt: skip
def test_what_serves_says_which_size_reads_what_and_what_the_other_takes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    checker: dict[str, Any],
    installed: bool,
    told: list[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(nli_sizes, "MPNET_PARTS", ("a-package-that-is-not-there",))
    if installed:  # as it lies there once its packages were joined
        (tmp_path / "vouch" / "all-mpnet-base-v2").mkdir(parents=True)
        (tmp_path / "vouch" / "all-mpnet-base-v2" / "model.safetensors").touch()
    lines = [line.strip() for line in plans(validate({"checker": checker}))]
    start = next(index for index, line in enumerate(lines) if line.startswith("checker"))
    for line, pattern in zip(lines[start:], told, strict=False):
        assert re.fullmatch(pattern, line)


def test_only_what_is_asked_for_is_imported() -> None:
    code = (
        "import sys; from proxy.config.checker_settings import Checker; "
        "from proxy.cli.compose_checkers import load_checkers; "
        "load_checkers(Checker(), ['llm']); "
        "from proxy.cli.serve import plans; from proxy.config.load import validate; "
        "list(plans(validate({}))); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_checker_that_is_not_configured_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"repc is not configured: set checker\.repc\.model"):
        load_checkers(CheckerSettings(), ["repc"])


def test_without_an_llm_there_are_the_local_checkers() -> None:
    with closing(load_checkers(checker_settings(cascade={"steps": ["nli", "llm"]}))) as checkers:
        assert set(checkers.over()) == {"nli"}
        assert set(checkers.over(Factual())) == {"nli", "llm", "cascade"}
        assert checkers.over(Factual())["nli"] is checkers.over(Factual())["nli"]


async def test_a_repc_classifier_is_loaded_with_its_model(tmp_path: Path) -> None:
    model = tiny_encoder(tmp_path / "tiny-bert")
    classifier = repc_classifier(tmp_path, model, "--classifier", "mlp", "--pooling", "mean")
    settings = checker_settings(
        repc={"model": str(model), "classifier": str(classifier), "precision": "fp32"}
    )
    claim, rest = "the town of elm has mills", ": the town of elm is old and stands near fir , in 3 ."
    with closing(load_checkers(settings, ["repc"])) as checkers:
        right, wrong = await checkers.over()["repc"].check(
            [Pair(claim, f"true true {rest}"), Pair(claim, f"no never {rest}")]
        )
    assert (right.verdict, wrong.verdict) == (Verdict.SUPPORTED, Verdict.UNSUPPORTED)


async def test_a_cascade_asks_the_llm_what_the_model_is_unsure_of(tmp_path: Path) -> None:
    model = make_classifier(tmp_path / "model", NLI, bias=UNSURE)
    steps = [{"name": "cross_encoder", "sure": [0.2, 0.8]}, "llm"]
    settings = checker_settings(cross_encoder={"model": str(model)}, cascade={"steps": steps})
    llm = Factual()
    with closing(load_checkers(settings, ["cascade"])) as checkers:
        cascade = checkers.over(llm)["cascade"]
        unsure, nothing = await cascade.check([PAIR, Pair(PAIR.claim, "")])
    assert (unsure.verdict, unsure.score, unsure.usage) == (Verdict.SUPPORTED, 1.0, Usage(7, 2))
    assert (nothing.verdict, nothing.usage) == (Verdict.UNSUPPORTED, Usage())
    assert len(llm.asked) == 1


@pytest.mark.parametrize(("kept", "asked"), [({}, 2), ({"cache_llm": True}, 1)])
async def test_an_llms_answers_are_kept_where_that_is_wanted(kept: dict[str, bool], asked: int) -> None:
    llm = Factual()
    checker = load_checkers(checker_settings(**kept), ["llm"]).over(llm)["llm"]
    spent = [(await checker.check([PAIR]))[0].usage for _ in range(2)]
    assert len(llm.asked) == asked
    assert sum(spent, Usage()) == Usage(7 * asked, 2 * asked)


@pytest.mark.parametrize(
    ("command", "model", "said"),
    [
        (["check", "x is y."], "someone/nli", "The cross-encoder someone/nli can't be loaded"),
        (["serve", "--port", "0"], "./nowhere", "No such cross-encoder folder: ./nowhere"),
    ],
)
def test_a_model_that_is_not_there_stops_the_command(
    command: list[str], model: str, said: str, tmp_path: Path, example_index: Path
) -> None:
    environ = {"HF_HUB_OFFLINE": "1", "VOUCH_CHECKER__CROSS_ENCODER__MODEL": model}
    done = vouch(
        *command, "--index", str(example_index), "--checker", "cross_encoder", folder=tmp_path, **environ
    )
    assert said in one_line(done)
    assert done.returncode == 2
