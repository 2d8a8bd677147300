"""A sequence-classification model, loaded and tried out, and the meaning of its classes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from huggingface_hub import hf_hub_download
from numpy.typing import NDArray
from sentence_transformers import CrossEncoder

from proxy.checkers.windows import Window
from proxy.errors import ConfigError
from proxy.model_files import device, dtype_of, first_line, local_folder, model_checksum, quiet
from proxy.types import NLILabel, Precision

Floats = NDArray[np.float64]

_WORDS: Mapping[NLILabel, frozenset[str]] = {
    "entailment": frozenset(
        "entailment entail entails entailed support supports supported consistent factual faithful grounded "
        "attributable".split()
    ),
    "neutral": frozenset(
        "neutral not_entailment not_entailed not_supported unsupported not_enough_info nei inconsistent "
        "hallucination hallucinated unfaithful ungrounded not_attributable extrapolatory".split()
    ),
    "contradiction": frozenset(
        "contradiction contradict contradicts contradicted contradictory refute refutes refuted".split()
    ),
}
_MEANINGS: Mapping[str, NLILabel] = {word: label for label, words in _WORDS.items() for word in words}


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of a model, by index. A model with a single output gives the logit of entailment."""

    labels: tuple[NLILabel, ...]

    def probabilities(self, outputs: Floats) -> Floats:
        """The softmax of a model's outputs, shape (n, classes); of a single output the sigmoid."""
        if len(self.labels) == 1:
            return 1 / (1 + np.exp(-np.clip(outputs, -500, 500)))
        odds = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        shares: Floats = odds / odds.sum(axis=1, keepdims=True)
        return shares

    def entailment(self, probabilities: Floats) -> Floats:
        """The probabilities of entailment, shape (n,), of probabilities of shape (n, classes)."""
        return probabilities[:, self.labels.index("entailment")]

    def contradicts(self, probabilities: Floats) -> bool:
        """Whether contradiction is the likeliest class in one row, shape (classes,)."""
        return self.labels[int(probabilities.argmax())] == "contradiction"


def read_classes(id2label: Mapping[int, str], given: Sequence[NLILabel] = ()) -> Classes:
    """The classes as `given`, or else by the model's own names for them.

    Raises:
        ValueError: a name is unknown, or there is not exactly one class of entailment. It says what to set.
    """
    names = [id2label[index] for index in sorted(id2label)]
    if given and len(given) != len(names):
        raise ValueError(f"it has {len(names)} classes ({', '.join(names)}), and `labels` names {len(given)}")
    if given:
        return Classes(tuple(given))
    if len(names) == 1:
        return Classes(("entailment",))
    meanings = [_MEANINGS.get(re.sub(r"[\s-]+", "_", name.strip().casefold())) for name in names]
    labels = tuple(meaning for meaning in meanings if meaning is not None)
    if len(labels) < len(names) or labels.count("entailment") != 1:
        raise ValueError(
            f"its classes are called {', '.join(names)}: say in `labels` which of them, in this order, is "
            "entailment, neutral or contradiction"
        )
    return Classes(labels)


_KEY = "checker.cross_encoder.model"
_HEAD = "ForSequenceClassification"
_FALLBACK_WINDOW = 512
_UNKNOWN_WINDOW = 1_000_000
"""Above this, a tokenizer's limit means that it does not know its model's window."""


class Classifier:
    """A model that sentence-transformers loads as a `CrossEncoder`. Blocking; for one thread at a time.

    Args:
        model: a local folder, or a hub id with its `revision`.
        labels: the meaning of the classes, if the model does not name them itself.

    Raises:
        ConfigError: the model can't be found, downloaded or loaded, is no classifier, or has classes of
            unknown meaning.
    """

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        labels: Sequence[NLILabel] = (),
        precision: Precision = "auto",
        trust_remote_code: bool = False,
    ) -> None:
        folder = local_folder(model, kind="cross-encoder", key=_KEY)
        self._model = _load(model, folder, revision, precision, trust_remote_code)
        try:
            self.classes = read_classes(_names(self._model), labels)
            self._try_out()
        except ValueError as error:
            raise ConfigError(f"The cross-encoder {model} can't be used: {error}.", param=_KEY) from error
        commit = getattr(self._model.config, "_commit_hash", None) or revision or ""
        weights = model_checksum(folder) if folder else f"{model}@{commit}"
        self.version = f"{weights} {self._model.dtype}"

    @property
    def tokenizer(self) -> Any:
        """The model's own tokenizer."""
        return self._model.tokenizer

    @property
    def max_tokens(self) -> int:
        """The model's window, with its special tokens."""
        if self.tokenizer.model_max_length < _UNKNOWN_WINDOW:
            return int(self.tokenizer.model_max_length)
        positions = getattr(self._model.config, "max_position_embeddings", None) or _FALLBACK_WINDOW
        return int(positions) - 2  # some models use two of them for padding

    def probabilities(self, windows: Sequence[Window]) -> Floats:
        """Shape (len(windows), classes), computed in one batch; not finite where the model failed."""
        rows = {name: [window.inputs[name] for window in windows] for name in windows[0].inputs}
        inputs = self.tokenizer.pad(rows, return_tensors="pt").to(self._model.device)
        with torch.inference_mode():
            outputs = self._model(dict(inputs))["scores"]
        values: Floats = outputs.float().cpu().numpy().astype(np.float64).reshape(len(windows), -1)
        return self.classes.probabilities(values)

    def _try_out(self) -> None:
        """Runs two pairs of unequal length, so that a model that can't work fails at the start."""
        if not self.tokenizer.is_fast:
            raise ValueError("it has no fast tokenizer (tokenizer.json)")
        windows = [Window(dict(self.tokenizer(text, "claim")), (0, 0)) for text in ("a", "a longer text")]
        try:
            values = self.probabilities(windows)
        except Exception as error:
            raise ValueError(f"it fails on two short pairs: {first_line(error)}") from error
        if values.shape != (2, len(self.classes.labels)):
            raise ValueError(f"it has {len(self.classes.labels)} classes but gives {values.shape[1]} values")


def _names(model: CrossEncoder) -> dict[int, str]:
    """The classes' names, as many as the model has outputs."""
    named = {int(index): str(name) for index, name in (model.config.id2label or {}).items()}
    return {index: named.get(index, f"LABEL_{index}") for index in range(model.num_labels)}


def _load(
    model: str, folder: Path | None, revision: str | None, precision: Precision, trust_remote_code: bool
) -> CrossEncoder:
    """Loads the model. What the libraries and the hub raise becomes a `ConfigError` of one line."""
    try:
        with quiet():
            if folder is None:  # else each file of a missing model is requested
                hf_hub_download(model, "config.json", revision=revision)
            loaded = CrossEncoder(
                model if folder is None else str(folder),
                revision=revision,
                local_files_only=folder is not None,
                trust_remote_code=trust_remote_code,
                device=str(device()),
                model_kwargs={"dtype": dtype_of(precision)},
            ).eval()
    except Exception as error:
        advice = (
            f"check the name and the network, or name a local folder in {_KEY}"
            if folder is None
            else "is it a folder with a model and its tokenizer?"
        )
        reason = first_line(error)
        raise ConfigError(
            f"The cross-encoder {model} can't be loaded: {reason} — {advice}", param=_KEY
        ) from error
    architectures = getattr(loaded.config, "architectures", None) or ["of no known architecture"]
    if not trust_remote_code and not any(name.endswith(_HEAD) for name in architectures):
        raise ConfigError(
            f"The cross-encoder {model} is no classification model but {architectures[0]}: name one that was "
            f"trained for natural language inference or grounding in {_KEY}.",
            param=_KEY,
        )
    return loaded
