"""`fit`: a LoRA adapter (Hu et al. 2021, by PEFT) and a head turn a sentence encoder into an NLI model."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from proxy.checkers.builtin.alignment import AlignedEncoder, load_base
from training.batches import Encoded, encode, loss, shuffled, tensors
from training.run import Run, checksum, read_rows

log = logging.getLogger("training")

_LOG_EVERY = 100
_SAVE_EVERY = 500
_CLIP = 1.0
_LEAST_RATE = 0.02


@dataclass(frozen=True, slots=True)
class Settings:
    """How to fit. `rank`, `alpha` and `dropout` as the papers have them; `batch_tokens` are padded tokens.

    `targets` are the layers that get an adapter, by the end of their names. `hidden_dropout` is the base
    model's own.
    """

    rank: int = 8
    alpha: float = 32.0
    dropout: float = 0.1
    hidden_dropout: float = 0.1
    targets: tuple[str, ...] = ("query", "key", "value", "dense")
    rate: float = 5e-4
    warmup: float = 0.06
    decay: float = 0.01
    epochs: int = 2
    batch_tokens: int = 2048
    longest: int = 192
    seed: int = 7


def fit(
    run: Run, name: str, rows: Sequence[Path], base: Path, settings: Settings, start: Path | None = None
) -> Path:
    """Fits an adapter on prepared rows and leaves it in the run as safetensors; goes on where it was stopped.

    With `start` it begins with that adapter, of the same settings, instead of an untrained one. Returns the
    adapter's file. The same rows and settings give the same adapter on the same machine.
    """
    made_of = checksum(*rows, asdict(settings), base.name, *([start] if start else []))
    out = run.path(name)
    if run.is_done(name, made_of):
        log.info("fit: %s is up to date", out)
        return out
    tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
    data = encode([row for path in rows for row in read_rows(path)], tokenizer, settings.longest)
    model = adapted(base, settings)
    if start:
        restore(model, load_file(start), settings)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    log.info("fit: %d rows, %d trained weights", len(data), sum(weight.numel() for weight in trained))
    _Loop(run, f"{name}.checkpoint", model, trained, data, settings, made_of).go()
    save_file(exported(model, settings), out, metadata={"format": "pt"})
    run.done(name, made_of)
    run.path(f"{name}.checkpoint").unlink(missing_ok=True)
    log.info("fit: %s has %.1f MB", out, out.stat().st_size / 1e6)
    return out


def adapted(base: Path, settings: Settings) -> AlignedEncoder:
    """The base model with a fresh head and an untrained adapter."""
    model = load_base(base, settings.hidden_dropout)
    torch.manual_seed(settings.seed)
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=list(settings.targets),
        exclude_modules=".*pooler.*",
    )
    model.encoder = get_peft_model(model.encoder, config)
    return model


def exported(model: AlignedEncoder, settings: Settings) -> dict[str, torch.Tensor]:
    """The adapter in half precision by the base model's names: A, B times alpha / r, and the head, whole."""
    return {
        name: (weight.detach() * scale).half().contiguous()
        for name, weight, scale in _trained(model, settings)
    }


def restore(model: AlignedEncoder, adapter: Mapping[str, torch.Tensor], settings: Settings) -> None:
    """Puts what `exported` gave back into a model. Raises `KeyError` where it is of other layers."""
    with torch.no_grad():
        for name, weight, scale in _trained(model, settings):
            weight.copy_(adapter[name].float() / scale)


def _trained(model: AlignedEncoder, settings: Settings) -> Iterator[tuple[str, torch.nn.Parameter, float]]:
    """The trained weights by the base model's names, and what they are multiplied by in a file."""
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            plain = name.replace("encoder.base_model.model.", "encoder.").replace(".default.weight", "")
            scale = settings.alpha / settings.rank if plain.endswith(".lora_B") else 1.0
            yield plain, weight, scale


@dataclass(slots=True)
class _Loop:
    """The loop over batches, with its checkpoints."""

    run: Run
    checkpoint: str
    model: AlignedEncoder
    trained: list[torch.nn.Parameter]
    data: Sequence[Encoded]
    settings: Settings
    made_of: str

    def go(self) -> None:
        settings = self.settings
        plan = [
            batch
            for epoch in range(settings.epochs)
            for batch in shuffled(self.data, settings.batch_tokens, settings.seed, epoch)
        ]
        optimizer = torch.optim.AdamW(self.trained, lr=settings.rate, weight_decay=settings.decay)
        step, smooth, begun = self._restored(optimizer), 0.0, time.monotonic()
        first = step
        self.model.train()
        while step < len(plan):
            for group in optimizer.param_groups:
                group["lr"] = settings.rate * rate_at(step / len(plan), settings.warmup)
            losses = self._step(plan[step], optimizer)
            step += 1
            smooth = 0.98 * smooth + 0.02 * losses
            if step % _LOG_EVERY == 0:
                pace = (time.monotonic() - begun) / (step - first)
                shown = smooth / (1 - 0.98 ** (step - first))
                left = pace * (len(plan) - step) / 60
                log.info("fit: step %d of %d, loss %.4f, %.0f minutes left", step, len(plan), shown, left)
            if step % _SAVE_EVERY == 0:
                self._save(optimizer, step)

    def _step(self, batch: Sequence[int], optimizer: torch.optim.Optimizer) -> float:
        inputs, labels, words = tensors([self.data[index] for index in batch])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = self.model(**inputs)
        value = loss(logits, labels, words)
        optimizer.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.trained, _CLIP)
        optimizer.step()
        return float(value.detach())

    def _save(self, optimizer: torch.optim.Optimizer, step: int) -> None:
        part = self.run.path(f"{self.checkpoint}.part")
        torch.save(
            {
                "made_of": self.made_of,
                "step": step,
                "trained": [weight.detach() for weight in self.trained],
                "optimizer": optimizer.state_dict(),
                "random": torch.get_rng_state(),
            },
            part,
        )
        part.replace(self.run.path(self.checkpoint))

    def _restored(self, optimizer: torch.optim.Optimizer) -> int:
        """The step of the last checkpoint, if it is of these rows and settings; its state is put back."""
        path = self.run.path(self.checkpoint)
        if not path.exists():
            return 0
        state = torch.load(path, weights_only=True)
        if state["made_of"] != self.made_of:
            log.info("fit: the checkpoint is of other rows or settings; from the start")
            return 0
        with torch.no_grad():
            for weight, kept in zip(self.trained, state["trained"], strict=True):
                weight.copy_(kept)
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        log.info("fit: goes on from step %d", state["step"])
        return int(state["step"])


def rate_at(done: float, warmup: float) -> float:
    """The share of the learning rate when a share of the steps is `done`: up first, then down in a line."""
    return min(1.0, (done + 1e-3) / max(warmup, 1e-3)) * max(_LEAST_RATE, 1 - done)
