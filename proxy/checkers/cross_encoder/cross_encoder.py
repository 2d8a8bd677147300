"""The checker that runs a sequence-classification model over windows of the evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from proxy.checkers.cross_encoder.classifier import Classifier, Floats
from proxy.checkers.windows import FAILED, LEAST_ROOM, Window, Windowed, leading_title, nearest
from proxy.text.sentences import sentence_spans
from proxy.types import Judgement, NLILabel, Pair, Precision, Verdict


class CrossEncoderChecker:
    """Implements `protocols.Checker` with any model that sentence-transformers loads as a `CrossEncoder`.

    These are models for NLI with three classes (premise: the evidence, hypothesis: the claim), and grounding
    models with two classes or one output, such as HHEM and MiniCheck. `Judgement.score` is the highest
    probability of entailment among the windows; that window, trimmed to whole sentences, is the quote. The
    model does not see the claim's context or question. It runs on a thread of its own.

    Args:
        model: a hub id or a local folder.
        revision: branch, tag or commit of the hub's repository.
        labels: the meaning of the classes in their order, for a model that does not name them.
        threshold: the score from which a claim is supported. Below it, a claim is contradicted if
            contradiction is the likeliest class of the best window.
        max_tokens: of one window with the claim; the model's own limit if that is lower. A claim that leaves
            no room for evidence is UNVERIFIED.
        overlap: tokens that neighbouring windows share.
        max_windows: windows of one passage that are read: those that have most in common with the claim.
        precision: see `encoder.SentenceTransformerEncoder`.
        batch_size: windows that are computed together.
        trust_remote_code: run program code from the model's repository.

    Raises:
        ConfigError: the model can't be loaded, or is not one that classifies pairs.
    """

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        labels: Sequence[NLILabel] = (),
        threshold: float = 0.5,
        max_tokens: int = 512,
        overlap: int = 64,
        max_windows: int = 8,
        precision: Precision = "auto",
        batch_size: int = 8,
        trust_remote_code: bool = False,
    ) -> None:
        self._classifier = Classifier(
            model, revision=revision, labels=labels, precision=precision, trust_remote_code=trust_remote_code
        )
        window = min(max_tokens, self._classifier.max_tokens)
        self._reader = Reader(self._classifier.tokenizer, window, overlap, max_windows)
        self._threshold = threshold
        settings = (
            self._classifier.version,
            self._classifier.classes,
            threshold,
            window,
            overlap,
            max_windows,
        )
        self._version = f"cross_encoder {hashlib.sha256(repr(settings).encode()).hexdigest()}"
        self._windowed = Windowed("cross-encoder", self._read, self._judge, batch_size)

    @property
    def version(self) -> str:
        """Changes with the model, its weights and every setting that a judgement depends on."""
        return self._version

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. Batches that have not begun when it is cancelled are dropped."""
        return await self._windowed.check(pairs)

    def close(self) -> None:
        """Ends the thread, after the batch that it is computing."""
        self._windowed.close()

    def _read(self, pair: Pair) -> list[Window]:
        """The pair's windows; the span of each is what to quote of it."""
        windows = self._reader.read(pair)
        sentences = sentence_spans(pair.evidence) if windows else ()
        return [replace(window, span=_whole(sentences, window.span)) for window in windows]

    def _judge(self, windows: Sequence[Window]) -> list[Judgement]:
        probabilities = self._classifier.probabilities(windows)
        scores = self._classifier.classes.entailment(probabilities)
        return [
            self._judgement(float(score), row, window.span)
            for window, score, row in zip(windows, scores, probabilities, strict=True)
        ]

    def _judgement(self, score: float, probabilities: Floats, span: tuple[int, int]) -> Judgement:
        if not np.isfinite(probabilities).all():
            return FAILED
        verdict = self._verdict(score, probabilities)
        return Judgement(verdict, score, span, _REASONS[verdict])

    def _verdict(self, score: float, probabilities: Floats) -> Verdict:
        if score >= self._threshold:
            return Verdict.SUPPORTED
        contradicts = self._classifier.classes.contradicts(probabilities)
        return Verdict.CONTRADICTED if contradicts else Verdict.UNSUPPORTED


def _whole(sentences: Sequence[tuple[int, int]], span: tuple[int, int]) -> tuple[int, int]:
    """The part of a window's span that is whole sentences, or the span if it holds none."""
    whole = [(start, end) for start, end in sentences if span[0] <= start and end <= span[1]]
    return (whole[0][0], whole[-1][1]) if whole else span


_REASONS = {
    Verdict.SUPPORTED: "the model holds that the evidence entails it",
    Verdict.CONTRADICTED: "the model holds that the evidence contradicts it",
    Verdict.UNSUPPORTED: "the model does not hold that the evidence entails it",
}


class Token(NamedTuple):
    """A token of an evidence with its title, and where in that text it stands."""

    id: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reader:
    """Cuts pairs into windows of at most `max_tokens`, each sharing `overlap` tokens with the one before.

    Evidence is the first segment, claim the second. The evidence's title, where there is one, goes before the
    evidence. Of an evidence of many windows those `max_windows` are kept that have most in common with the
    claim. `tokenizer` is a fast one of transformers.
    """

    tokenizer: Any
    max_tokens: int
    overlap: int
    max_windows: int

    def read(self, pair: Pair) -> list[Window]:
        """The windows in the order of the evidence; none where the evidence or the claim has no tokens.

        Raises:
            ValueError: there is no room for evidence beside the claim.
        """
        claim = self._tokens(pair.statement, add_special_tokens=False)["input_ids"]
        if not claim:
            return []
        room = self.max_tokens - len(claim) - self.tokenizer.num_special_tokens_to_add(pair=True)
        if room < LEAST_ROOM:
            raise ValueError(f"the claim leaves no room for evidence in the model's {self.max_tokens} tokens")
        head = _head(pair)
        cut = self._tokens(
            head + pair.evidence,
            pair.statement,
            truncation="only_first",
            max_length=self.max_tokens,
            stride=min(self.overlap, room // 2),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        rows = {row: _evidence(cut, row, len(head)) for row in range(len(cut["input_ids"]))}
        read = {row: tokens for row, tokens in rows.items() if tokens}
        ids = {row: [token.id for token in tokens] for row, tokens in read.items()}
        return [self._window(cut, row, read[row], len(head)) for row in nearest(ids, claim, self.max_windows)]

    def _window(self, cut: Any, row: int, evidence: Sequence[Token], head: int) -> Window:
        names = [name for name in self.tokenizer.model_input_names if name in cut]
        span = max(0, evidence[0].start - head), evidence[-1].end - head
        return Window({name: cut[name][row] for name in names}, span)

    def _tokens(self, *texts: str, **options: Any) -> Any:
        """What looks like one of the model's special tokens in a text is text."""
        return self.tokenizer(*texts, split_special_tokens=True, verbose=False, **options)


def _evidence(cut: Any, row: int, head: int) -> list[Token]:
    """The evidence's tokens in one row of the tokenizer's output, those of the title before it left out."""
    columns = zip(cut["input_ids"][row], cut["offset_mapping"][row], cut.sequence_ids(row), strict=True)
    return [Token(one, *span) for one, span, segment in columns if segment == 0 and span[1] > head]


def _head(pair: Pair) -> str:
    title = leading_title(pair)
    return f"{title}\n" if title else ""
