"""The NLI models: a small packaged encoder for each language, with our adapter merged in. They tell which
words they doubt."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from transformers import AutoTokenizer

from proxy.checkers.builtin.alignment import load_base
from proxy.checkers.builtin.excerpt import Extract
from proxy.checkers.builtin.tensors import TokenPair, batches, join, stacked
from proxy.errors import ConfigError
from proxy.model_files import DEFAULT_MODEL, dtype_of, first_line, packaged_folder, quiet
from proxy.types import Language, Precision

ADAPTERS: Mapping[Language, str] = {"en": "adapter-en.safetensors", "zh": "adapter-zh.safetensors"}
BASES: Mapping[Language, str] = {"en": DEFAULT_MODEL, "zh": "multilingual-e5-small"}
"""What the adapters are of. MiniLM knows few Chinese characters."""
_CHINESE_BASE = "chinese_base"
LONGEST_CLAIM = 200
"""Word pieces of a claim that are read at once; a longer one is read in pieces, and its worst counts."""
WINDOW = 384
"""Word pieces of claim and excerpt together; most excerpts are far shorter."""
_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class Entailment:
    """The probabilities of the classes, and of each word piece of the claim (start, end) that it is *not*
    borne out."""

    supported: float
    contradicted: float
    unsupported: float
    words: tuple[tuple[int, int, float], ...]


_SURE = Entailment(1.0, 0.0, 0.0, ())
_NOTHING = Entailment(0.0, 0.0, 1.0, ())
"""Of a claim with nothing to read it by, which no model is asked about."""


class EntailmentModel(Protocol):
    """What tells entailed claims from others."""

    @property
    def version(self) -> str:
        """A checksum of what the probabilities depend on."""
        ...

    def entailments(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        """Of (excerpt, claim) pairs, in order."""
        ...


def base_folder(language: Language) -> Path:
    """The folder of a packaged base. Raises `ConfigError` where that of English is missing or broken."""
    if language == "en":
        return packaged_folder()
    return Path(str(resources.files(__package__).joinpath(_CHINESE_BASE)))


class NLI:
    """Implements `EntailmentModel`. Blocking.

    Args:
        base: folder of the base model, None for the packaged one of `language`.
        adapter: the adapter's safetensors file, None for the package's own.
        precision: as the encoder's; bfloat16 halves the time where the processor has it.
        language: of the claims.

    Raises:
        ConfigError: a file is missing or broken, or the adapter is of another model.
    """

    def __init__(
        self,
        base: Path | None = None,
        adapter: Traversable | None = None,
        precision: Precision = "auto",
        language: Language = "en",
    ) -> None:
        folder = base or base_folder(language)
        file = adapter or _packaged_adapter(language)
        content = _content(file)
        try:
            with quiet():
                model = load_base(folder)
                self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            merge(model, load_tensors(content))
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            raise _unusable(f"{file} on {folder}", error) from error
        self._version = _checksum(content)
        model.encoder.to(dtype_of(precision))
        self._model = model.eval()

    @property
    def version(self) -> str:
        """The adapter's checksum."""
        return self._version

    def entailments(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        """One per pair. A claim of more than `LONGEST_CLAIM` word pieces is read in pieces: the least
        supported one decides."""
        if not pairs:
            return []
        claims = self._tokenizer(
            [claim for _, claim in pairs], add_special_tokens=False, return_offsets_mapping=True
        )
        excerpts = self._tokenizer([excerpt for excerpt, _ in pairs], add_special_tokens=False)["input_ids"]
        pieces = [
            (at, start)
            for at, ids in enumerate(claims["input_ids"])
            for start in range(0, max(1, len(ids)), LONGEST_CLAIM)
        ]
        read = self._read(
            [
                self._joined(excerpts[at], claims["input_ids"][at][start : start + LONGEST_CLAIM])
                for at, start in pieces
            ]
        )
        found: dict[int, list[Entailment]] = {}
        for (at, start), (classes, words) in zip(pieces, read, strict=True):
            spans = claims["offset_mapping"][at][start : start + LONGEST_CLAIM]
            told = tuple((*span, word) for span, word in zip(spans, words, strict=True))
            found.setdefault(at, []).append(Entailment(classes[0], classes[1], classes[2], told))
        return [_worst(found[at]) for at in range(len(pairs))]

    def _joined(self, excerpt: Sequence[int], claim: Sequence[int]) -> TokenPair:
        return join(excerpt, claim, self._tokenizer.cls_token_id, self._tokenizer.sep_token_id, WINDOW)

    def _read(self, rows: Sequence[TokenPair]) -> list[tuple[list[float], list[float]]]:
        """Per row the classes' probabilities and those of the claim's tokens."""
        found: list[tuple[list[float], list[float]]] = [([], [])] * len(rows)
        with torch.inference_mode():
            for batch in batches([len(row.ids) for row in rows], _TOKENS):
                logits = self._model(**stacked([rows[at] for at in batch]))
                classes, words = logits.classes.softmax(-1).tolist(), logits.words.sigmoid().tolist()
                for at, one, word in zip(batch, classes, words, strict=False):
                    found[at] = one, word[rows[at].start : len(rows[at].ids) - 1]
        return found


class LazyNLI:
    """Implements `EntailmentModel`: the packaged one of a language, loaded when it is first asked, so that
    who has texts in one language holds one model. Blocking.

    Raises `ConfigError` when made without an adapter, or asked with a broken one.
    """

    def __init__(self, language: Language) -> None:
        self._language = language
        self._version = _checksum(_content(_packaged_adapter(language)))
        self._model: NLI | None = None

    @property
    def version(self) -> str:
        """The adapter's checksum."""
        return self._version

    def entailments(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        """As those of `NLI`."""
        if not pairs:
            return []
        if self._model is None:
            self._model = NLI(language=self._language)
        return self._model.entailments(pairs)


def entailments(model: EntailmentModel, claims: Sequence[Sequence[Extract]]) -> list[Entailment]:
    """One per claim, of which each piece is read beside each of its texts: the best of these counts, and of
    the pieces the least supported. A claim without pieces is sure."""
    asked = [
        (at, number, text)
        for at, extracts in enumerate(claims)
        for number, one in enumerate(extracts)
        for text in one.texts
        if text.strip()
    ]
    told = model.entailments([(text, claims[at][number].claim) for at, number, text in asked])
    read: dict[tuple[int, int], list[Entailment]] = {}
    for (at, number, _), entailment in zip(asked, told, strict=True):
        read.setdefault((at, number), []).append(entailment)
    return [
        _worst([_best(read.get((at, number), ()), one.offset) for number, one in enumerate(extracts)])
        if extracts
        else _SURE
        for at, extracts in enumerate(claims)
    ]


def merge(model: torch.nn.Module, tensors: Mapping[str, torch.Tensor]) -> None:
    """Adds an adapter (Hu et al. 2021: W + BA) to a model in place; what was trained whole is replaced.

    B holds the factor alpha / r already. Raises `KeyError` for a tensor that fits no layer.
    """
    weights = dict(model.named_parameters())
    with torch.no_grad():
        for name, tensor in tensors.items():
            if name.endswith(".lora_B"):
                layer = name.removesuffix(".lora_B")
                weights[f"{layer}.weight"].add_(tensor.float() @ tensors[f"{layer}.lora_A"].float())
            elif not name.endswith(".lora_A"):
                weights[name].copy_(tensor.float())


def _packaged_adapter(language: Language) -> Traversable:
    return resources.files(__package__).joinpath(ADAPTERS[language])


def _content(adapter: Traversable) -> bytes:
    try:
        return adapter.read_bytes()
    except OSError as error:
        raise _unusable(str(adapter), error) from error


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _unusable(what: str, error: Exception) -> ConfigError:
    return ConfigError(
        f"The built-in checker's NLI model ({what}) can't be used: {first_line(error)}. "
        "Install Vouch again, or make it with `python -m training`."
    )


def _best(readings: Sequence[Entailment], offset: int) -> Entailment:
    """The reading that bears a piece of a claim out the best, its words counted from the claim's start."""
    best = max(readings, key=lambda one: one.supported, default=_NOTHING)
    return replace(best, words=tuple((start + offset, end + offset, p) for start, end, p in best.words))


def _worst(pieces: Sequence[Entailment]) -> Entailment:
    least = min(pieces, key=lambda piece: piece.supported)
    words = tuple(word for piece in pieces for word in piece.words)
    return Entailment(least.supported, least.contradicted, least.unsupported, words)
