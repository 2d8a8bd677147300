"""The NLI model: the packaged one with its adapter, and what becomes of broken files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from proxy.checkers.builtin.alignment import load_base
from proxy.checkers.builtin.excerpt import Extract
from proxy.checkers.builtin.nli import LONGEST_CLAIM, NLI, Entailment, LazyNLI, entailments, merge
from proxy.errors import ConfigError
from tests.tiny_models import tiny_encoder

TOWER = "The Eiffel Tower is a wrought-iron lattice tower in Paris, France. It was completed in 1889."


@pytest.fixture(scope="module")
def nli() -> NLI:
    return NLI()


def test_what_the_text_says_is_likelier_than_what_it_does_not(nli: NLI) -> None:
    said, swapped, other = nli.entailments(
        [
            (TOWER, "The Eiffel Tower was completed in 1889."),
            (TOWER, "The Eiffel Tower was completed in 1925."),
            (TOWER, "Bananas are rich in potassium."),
        ]
    )
    assert said.supported > 0.5 > max(swapped.supported, other.supported)
    assert sum((said.supported, said.contradicted, said.unsupported)) == pytest.approx(1, abs=1e-3)


def test_chinese_is_read_by_a_model_of_its_own() -> None:
    wall = "明长城东起虎山，西至嘉峪关，全长8851.8公里。1987年12月，长城被列入世界文化遗产。"
    said, denied, turned, other = NLI(language="zh").entailments(
        [
            (wall, "长城于1987年被列入世界文化遗产。"),
            (wall, "长城没有被列入世界文化遗产。"),
            (wall, "明长城西起虎山，东至嘉峪关。"),
            (wall, "香蕉富含钾元素。"),
        ]
    )
    assert said.supported > 0.5 > max(denied.supported, other.supported)
    assert said.supported > turned.supported


def test_a_model_is_loaded_when_it_is_first_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = LazyNLI("en")
    assert lazy.entailments([]) == []
    monkeypatch.setattr("proxy.checkers.builtin.nli.base_folder", Path("/no/such").joinpath)
    with pytest.raises(ConfigError, match="can't be used"):
        lazy.entailments([(TOWER, "It is in Paris.")])
    monkeypatch.undo()
    assert lazy.entailments([(TOWER, "The Eiffel Tower is in Paris.")])[0].supported > 0.5
    assert lazy.version == NLI().version


def test_the_word_that_is_wrong_is_doubted_most(nli: NLI) -> None:
    claim = "The Eiffel Tower was completed in 1925."
    [found] = nli.entailments([(TOWER, claim)])
    start, end, _ = max(found.words, key=lambda word: word[2])
    assert claim[start:end] in "1925"


def test_what_stands_beside_a_pair_does_not_matter(nli: NLI) -> None:
    pair = (TOWER, "The Eiffel Tower is in Paris.")
    alone = nli.entailments([pair])[0]
    among = nli.entailments([(TOWER * 3, "A much longer claim about something else entirely."), pair])[1]
    assert among.supported == pytest.approx(alone.supported, abs=0.02)  # bfloat16


def test_a_long_claim_is_read_to_its_end(nli: NLI) -> None:
    literal = "The tower is in Paris. " * (LONGEST_CLAIM // 4)
    [whole] = nli.entailments([("The tower is in Paris.", literal + "The moon is made of cheese and gold.")])
    assert whole.words[-1][1] == len(literal) + len("The moon is made of cheese and gold.")
    assert whole.supported < 0.5


def test_no_pairs_give_nothing(nli: NLI) -> None:
    assert nli.entailments([]) == []


def test_a_claim_with_nothing_to_read_it_by_is_not_entailed(nli: NLI) -> None:
    claim = "The Eiffel Tower is in Paris."
    said, unsaid, half = entailments(
        nli,
        [
            [Extract((TOWER,), claim, 0)],
            [Extract((" ",), claim, 0)],
            [Extract((TOWER,), claim, 0), Extract(("",), "It is tall.", 30)],
        ],
    )
    assert said.supported > 0.5
    assert unsaid.supported == half.supported == 0


class Told:
    """A model that bears out what it is told to."""

    version = "told"

    def __init__(self, **supported: float) -> None:
        self._supported = supported

    def entailments(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        return [Entailment(self._supported[text], 0.0, 0.0, ((0, 1, 0.5),)) for text, _ in pairs]


def test_of_several_texts_the_best_counts_and_of_several_pieces_the_worst() -> None:
    model = Told(near=0.9, wide=0.4, other=0.7)
    best, worst = entailments(
        model,
        [
            [Extract(("wide", "near", " "), "claim", 0)],
            [Extract(("near", "wide"), "claim", 0), Extract(("other",), "and more", 6)],
        ],
    )
    assert (best.supported, worst.supported) == (0.9, 0.7)
    assert worst.words == ((0, 1, 0.5), (6, 7, 0.5))
    assert entailments(model, [[]])[0].supported == 1


def test_empty_texts_are_read(nli: NLI) -> None:
    assert len(nli.entailments([("", "A claim."), ("Evidence.", ""), ("", "")])) == 3


@pytest.mark.parametrize("content", [b"", b"not safetensors", b"\x00" * 64])
def test_a_broken_adapter_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "adapter.safetensors"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"adapter\.safetensors"):
        NLI(adapter=file)


def test_a_missing_adapter_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.safetensors"):
        NLI(adapter=tmp_path / "gone.safetensors")


def test_an_adapter_of_another_model_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "adapter.safetensors"
    save_file({"encoder.no.such.layer.lora_A": torch.zeros(1, 4), "no.such.lora_B": torch.zeros(4, 1)}, file)
    with pytest.raises(ConfigError, match="can't be used"):
        NLI(base=tiny_encoder(tmp_path / "model"), adapter=file)


def test_merging_adds_b_times_a(tmp_path: Path) -> None:
    model = load_base(tiny_encoder(tmp_path / "model"))
    name = "encoder.encoder.layer.0.attention.self.query"
    before = model.get_parameter(f"{name}.weight").clone()
    a, b = torch.randn(2, 16), torch.randn(16, 2)
    merge(model, {f"{name}.lora_A": a, f"{name}.lora_B": b})
    torch.testing.assert_close(model.get_parameter(f"{name}.weight"), before + b @ a)


def test_another_base_works_by_its_folder(tmp_path: Path) -> None:
    base = tiny_encoder(tmp_path / "model")
    head = {name: weight.detach() for name, weight in load_base(base).named_parameters() if "head" in name}
    save_file(head, tmp_path / "adapter.safetensors")
    [found] = NLI(base, tmp_path / "adapter.safetensors").entailments([("the mills", "the town")])
    assert 0 <= found.supported <= 1
