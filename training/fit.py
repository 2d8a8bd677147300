"""Trains an adapter and a head on the plan of a run, in resumable pieces.

Each thread computes whole micro-batches on one core, and gradients add up in place: a core that other work
takes holds up nobody. The learning rate rises, stays, and falls over the last rows (cool-down). What was
learnt before the rate fell is kept as a checkpoint, from which a longer run can go on.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from proxy.checkers.nli.batch import SpecialTokens, moved
from proxy.checkers.nli.model import NLIModel
from proxy.checkers.nli.reader import Reader
from proxy.model_files import device, dtype_of
from training.lora import adapted, restore, trained
from training.micro_batches import MicroBatch, Unit, micro_batch, steps
from training.objective import label_loss, log_odds, ranking_loss
from training.plan import Plan, read_plan
from training.recipes import Settings
from training.run import (
    BEGUN,
    BEGUN_MANIFEST,
    CHECKPOINT,
    COOLING,
    TRAINED,
    TRAINED_STATE,
    Run,
    TrainingError,
    read_json,
    write_json,
)

log = logging.getLogger(__name__)

_LOG_STEPS = 10
_BETAS = (0.9, 0.98)
_GPU_BATCH_TOKENS = 16_384
"""Padded tokens that a GPU computes at once."""


@dataclass(slots=True)
class State:
    """Where a run stands. While it cools down, `cooling_from` and `cooling_rows` say where the learning rate
    began to fall and over how many rows."""

    plan: str
    step: int = 0
    rows: int = 0
    seconds: float = 0.0
    cooling_from: int | None = None
    cooling_rows: int = 0

    @property
    def cooled(self) -> bool:
        """Whether the learning rate is down."""
        return self.cooling_from is not None and self.rows >= self.cooling_from + self.cooling_rows


@dataclass(frozen=True, slots=True)
class Progress:
    """Sums over rows since the last report, left where they were computed: reading one waits for a GPU."""

    loss: Tensor | float = 0.0
    right: Tensor | int = 0
    rows: int = 0

    def __add__(self, other: Progress) -> Progress:
        return Progress(self.loss + other.loss, self.right + other.right, self.rows + other.rows)


Watch = Callable[[State], None]
"""Is called after every step; what it raises ends the run."""


def fit(
    run: Run,
    base: Path,
    settings: Settings,
    *,
    begin: Path | None = None,
    cool_down: int | None = None,
    watch: Watch | None = None,
) -> Path:
    """Trains, or goes on where the run was stopped; returns the file of the trained tensors.

    With `begin`, a run that has learnt nothing yet begins with that file of trained tensors, a copy of which
    it keeps. What such a run gives is the mean of the tensors that it began and ended with (WiSE-FT, Wortsman
    et al. 2022): it keeps more of what the earlier run learnt from other rows.

    With `cool_down`, the learning rate falls from the last checkpoint on, over so many rows, and training
    ends; without, over the last rows of `settings.total_rows`. On one thread the same run gives the same
    bytes, however often it was stopped.

    Raises:
        TrainingError: there is no plan, or the checkpoint or `begin` is of another plan or model.
    """
    plan = read_plan(run)
    if begin is not None and not run.path(BEGUN).exists():
        if run.path(CHECKPOINT).exists():
            raise TrainingError(f"{run.folder} has begun without {begin}: take another --run folder.")
        if begin.with_name("manifest.json").exists():
            shutil.copyfile(begin.with_name("manifest.json"), run.path(BEGUN_MANIFEST))
        shutil.copyfile(_readable(begin), run.path(BEGUN))
    trainer = _Trainer(run, plan, base, settings, watch)
    total = settings.total_rows or plan.rows
    decay = max(1, round(total * settings.decay))
    trainer.begin()
    trainer.restore(CHECKPOINT)
    if cool_down is None:
        trainer.learn(CHECKPOINT, until=total - decay)
    elif not trainer.state.rows:
        raise TrainingError("There is nothing to cool down: train first, without --cool-down.")
    start, length = trainer.state.rows, cool_down or decay
    if run.path(COOLING).exists():
        trainer.restore(COOLING)
    if (trainer.state.cooling_from, trainer.state.cooling_rows) != (start, length):
        trainer.restore(CHECKPOINT)
        trainer.state.cooling_from, trainer.state.cooling_rows = start, length
    trainer.learn(COOLING, until=start + length)
    return trainer.export()


def rate_share(state: State, settings: Settings) -> float:
    """The learning rate as a share of its highest value."""
    warm = min(1.0, (state.step + 1) / settings.warmup_steps)
    if state.cooling_from is None:
        return warm
    left = max(0.0, 1 - (state.rows - state.cooling_from) / state.cooling_rows)
    return warm * (settings.least_rate + (1 - settings.least_rate) * left)


class _Trainer:
    """A model with its optimizer, its place in the plan and its threads."""

    def __init__(
        self,
        run: Run,
        plan: Plan,
        base: Path,
        settings: Settings,
        watch: Watch | None,
    ) -> None:
        self._run, self._plan, self._settings, self._device = run, plan, settings, device()
        self._watch = watch
        on_cpu = self._device.type == "cpu"
        self._workers = settings.workers if on_cpu else 1
        self._batch_tokens = settings.batch_tokens if on_cpu else _GPU_BATCH_TOKENS
        self._half = dtype_of("auto") is torch.bfloat16
        self._special: SpecialTokens = Reader(base).special
        self._model: NLIModel = adapted(base, settings, half=self._half).to(self._device)
        self._trained = trained(self._model)
        head = [tensor for name, tensor in self._trained.items() if name.startswith("head.")]
        layers = [tensor for name, tensor in self._trained.items() if not name.startswith("head.")]
        self._rates = (settings.rate, settings.head_rate)
        self._optimizer = torch.optim.AdamW(
            [{"params": layers, "lr": settings.rate}, {"params": head, "lr": settings.head_rate}],
            weight_decay=settings.weight_decay,
            betas=_BETAS,
            foreach=True,
        )
        self.state = State(plan.checksum)

    def begin(self) -> None:
        """Takes the weights that the run begins with, if it has any."""
        if self._run.path(BEGUN).exists():
            restore(self._model, load_file(self._run.path(BEGUN), device=str(self._device)))

    def restore(self, name: str) -> None:
        """Goes back to a checkpoint, if the run has it."""
        path = self._run.path(name)
        if not path.exists():
            return
        saved = torch.load(path, weights_only=True, map_location=self._device)
        state = State(**saved["state"])
        if state.plan != self._plan.checksum:
            raise TrainingError(f"{path} is of another plan: take another --run folder.")
        restore(self._model, saved["trained"])
        self._optimizer.load_state_dict(saved["optimizer"])
        self.state = state
        log.info("fit: %s has %d rows", name, state.rows)

    def learn(self, checkpoint: str, until: int) -> None:
        """Trains until so many rows are learnt, and leaves a checkpoint; nothing if they are already."""
        if self.state.rows >= until:
            if not self._run.path(checkpoint).exists():
                self._save(checkpoint)
            return
        saved = time.monotonic()
        progress = Progress()
        threads = torch.get_num_threads()
        try:
            with ThreadPoolExecutor(
                self._workers, "fit", initializer=torch.set_num_threads, initargs=(1,)
            ) as pool:
                for step in self._steps():
                    progress += self._step(pool, step)
                    if self.state.step % _LOG_STEPS == 0:
                        self._report(progress, until)
                        progress = Progress()
                    if self.state.rows >= until:
                        break
                    if time.monotonic() - saved >= 60 * self._settings.checkpoint_minutes:
                        self._save(checkpoint)
                        saved = time.monotonic()
                    if self._watch:
                        self._watch(self.state)
        finally:
            torch.set_num_threads(threads)
        self._save(checkpoint)

    def export(self) -> Path:
        """Writes the trained tensors as an adapter's file, in float16, and how much they have learnt."""
        path = self._run.path(TRAINED)
        tensors = {name: tensor.detach().cpu().half() for name, tensor in self._trained.items()}
        if self._run.path(BEGUN).exists():
            begun = load_file(self._run.path(BEGUN))
            tensors = {
                name: ((tensor.float() + begun[name].float()) / 2).half() for name, tensor in tensors.items()
            }
        save_file(tensors, path)
        write_json(self._run.path(TRAINED_STATE), {"rows": self.state.rows, "step": self.state.step})
        log.info("fit: %s has learnt %d rows", path, self.state.rows)
        return path

    def _steps(self) -> Iterator[list[list[Unit]]]:
        """The steps that are left, epoch after epoch."""
        passed = 0
        for epoch in count():
            for step in steps(self._plan, self._settings, epoch, self._batch_tokens):
                if passed >= self.state.rows:
                    yield step
                passed += sum(len(unit) for units in step for unit in units)

    def _step(self, pool: ThreadPoolExecutor, step: Sequence[Sequence[Unit]]) -> Progress:
        """One step of the optimizer; the largest micro-batches first, so that the threads end together."""
        begun = time.monotonic()
        batches: Queue[MicroBatch] = Queue()
        for batch in sorted(
            (micro_batch(units, self._special) for units in step),
            key=lambda batch: -batch.pairs.ids.numel(),
        ):
            batches.put(batch)
        rows = sum(len(unit) for units in step for unit in units)
        torch.manual_seed(self._settings.seed + self.state.step)  # of dropout, wherever the run was stopped
        jobs = [pool.submit(self._drain, batches, rows) for _ in range(self._workers)]
        progress = sum((job.result() for job in jobs), Progress())
        share = rate_share(self.state, self._settings)
        for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * share
        torch.nn.utils.clip_grad_norm_(self._trained.values(), self._settings.clip)
        self._optimizer.step()
        self._optimizer.zero_grad()
        self.state.step += 1
        self.state.rows += rows
        self.state.seconds += time.monotonic() - begun
        return progress

    def _drain(self, batches: Queue[MicroBatch], step_rows: int) -> Progress:
        """One thread's part of a step: micro-batches until none is left."""
        progress = Progress()
        while True:
            try:
                batch = batches.get_nowait()
            except Empty:
                return progress
            progress += self._learn(batch, step_rows)

    def _learn(self, batch: MicroBatch, step_rows: int) -> Progress:
        """Forward and backward pass of a micro-batch, whose loss is its share of the step's."""
        labels, groups = moved(batch.labels, self._device), moved(batch.groups, self._device)
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._half):
            logits = self._model(batch.pairs.to(self._device))
        logits = logits.float()
        loss = label_loss(logits, labels).sum()
        ranking = ranking_loss(logits, labels, groups)
        ((loss + self._settings.ranking * ranking) / step_rows).backward()  # type: ignore[no-untyped-call]
        right = ((log_odds(logits.detach()) > 0) == (labels == 0)).sum()
        return Progress(loss.detach(), right, len(labels))

    def _report(self, progress: Progress, until: int) -> None:
        state = self.state
        log.info(
            "fit: %d of %d rows, loss %.3f, %.1f%% right, rate %.2f, %.0f minutes so far",
            state.rows,
            until,
            float(progress.loss) / progress.rows,
            100 * int(progress.right) / progress.rows,
            rate_share(state, self._settings),
            state.seconds / 60,
        )

    def _save(self, name: str) -> None:
        """Writes a checkpoint; a write that is cut short leaves the last one."""
        part = self._run.path(f"{name}.part")
        content: dict[str, Any] = {
            "state": asdict(self.state),
            "trained": {key: tensor.detach() for key, tensor in self._trained.items()},
            "optimizer": self._optimizer.state_dict(),
        }
        torch.save(content, part)
        part.replace(self._run.path(name))


def _readable(path: Path) -> Path:
    try:
        load_file(path)
    except (OSError, SafetensorError) as error:
        raise TrainingError(f"{path} can't be begun with: {error}") from error
    return path


def rows_learnt(run: Run) -> int:
    """How many rows the trained tensors have learnt. Raises `TrainingError` before `fit` is done."""
    return int(read_json(run.needed(TRAINED_STATE, "fit"))["rows"])
