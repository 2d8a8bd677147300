"""One long run in resumable pieces: `python -m nli.train RUN --plan PLAN ...`; the same command goes on.
A file named `stop` in the run's folder makes it write a checkpoint and end.

Each thread computes whole micro-batches on one core (`OMP_NUM_THREADS=1`), so a core that other work takes
holds up nobody; gradients add up in place.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import torch

from nli.batches import Micro, steps
from nli.config import Config
from nli.data import read
from nli.encode import Encoder
from nli.losses import label_loss, margins, rank_loss
from nli.model import NliModel


@dataclass(slots=True)
class State:
    """Where a run stands."""

    step: int = 0
    rows: int = 0
    seconds: float = 0.0
    plan: str = ""
    plan_step: int = 0
    passes: int = 0


@dataclass(frozen=True, slots=True)
class _Sums:
    loss: float
    right: int
    rows: int


def _work(model: NliModel, micro: Micro, config: Config, step_rows: int) -> _Sums:
    """Forward and backward of one micro-batch; its share of the step's loss."""
    device = torch.device(config.device)
    labels, groups = micro.labels.to(device), micro.groups.to(device)
    with torch.autocast(device.type, torch.bfloat16, enabled=config.bf16):
        logits, _ = model(micro.batch.to(device))
    logits = logits.float()
    loss = label_loss(logits, labels).sum()
    ranked = rank_loss(logits, labels, groups)
    ((loss + config.rank_weight * ranked) / step_rows).backward()
    right = ((margins(logits.detach()) > 0) == (labels == 0)).sum()
    return _Sums(float(loss.detach()), int(right), len(labels))


def _drain(queue: Queue[Micro], model: NliModel, config: Config, step_rows: int) -> list[_Sums]:
    """One thread's part of a step: micro-batches until none is left."""
    torch.set_num_threads(1)
    found = []
    while True:
        try:
            micro = queue.get_nowait()
        except Empty:
            return found
        found.append(_work(model, micro, config, step_rows))


def _rate(state: State, config: Config) -> float:
    """The learning rate's share: warm-up by steps, then down to the floor by the time spent."""
    warm = min(1.0, (state.step + 1) / config.warmup_steps)
    spent = min(1.0, state.seconds / (config.budget_minutes * 60))
    return warm * (config.lr_floor + (1 - config.lr_floor) * (1 - spent))


def _optimizer(model: NliModel, config: Config) -> torch.optim.AdamW:
    head = [value for name, value in model.trained().items() if name.startswith("head.")]
    body = [value for name, value in model.trained().items() if not name.startswith("head.")]
    return torch.optim.AdamW(
        [
            {"params": body, "lr": config.lr, "base": config.lr},
            {"params": head, "lr": config.head_lr, "base": config.head_lr},
        ],
        weight_decay=config.weight_decay,
        betas=(0.9, 0.98),
        foreach=True,
    )


def _save(run: Path, model: NliModel, optimizer: torch.optim.AdamW, state: State) -> None:
    """Writes a checkpoint; a cut write leaves the last one whole."""
    fresh = run / "checkpoint.tmp"
    torch.save(
        {"model": model.trained(), "optimizer": optimizer.state_dict(), "state": vars_of(state)}, fresh
    )
    fresh.replace(run / "checkpoint.pt")
    kept = run / f"weights-{state.rows:06d}.safetensors"
    model.save_trained(kept, torch.float16)


def vars_of(state: State) -> dict[str, Any]:
    """The state as plain values."""
    return {name: getattr(state, name) for name in State.__slots__}


def _load(run: Path, model: NliModel, optimizer: torch.optim.AdamW) -> State:
    path = run / "checkpoint.pt"
    if not path.exists():
        return State()
    found = torch.load(path, weights_only=True, map_location="cpu")
    mine = model.trained()
    with torch.no_grad():
        for name, value in found["model"].items():
            mine[name].copy_(value)
    optimizer.load_state_dict(found["optimizer"])
    return State(**found["state"])


def train(run: Path, base: Path, plan: Path, config: Config, stop_at: float, minutes: float) -> State:
    """Goes on with a run over a plan until the plan, the minutes or the clock (`stop_at`, epoch) end."""
    torch.set_num_threads(1)
    model = NliModel(base, config).to(config.device)
    optimizer = _optimizer(model, config)
    state = _load(run, model, optimizer)
    if state.plan != str(plan.name):
        state = replace(state, plan=plan.name, plan_step=0, passes=0)
    encoder = Encoder(base, config.window_tokens + 32, config.claim_tokens)
    rows = read(plan)
    began, saved = time.time(), time.time()
    log = (run / "log.jsonl").open("a", encoding="utf-8")
    loss, right, seen = 0.0, 0, 0
    with ThreadPoolExecutor(config.workers) as pool:
        while True:
            order = _reshuffled(rows, config.seed + state.passes)
            for number, step in enumerate(steps(order, encoder, config, config.seed + state.passes)):
                if number < state.plan_step:
                    continue
                at = time.time()
                if at >= stop_at or at - began > minutes * 60 or (run / "stop").exists():
                    (run / "stop").unlink(missing_ok=True)
                    _save(run, model, optimizer, state)
                    return state
                sums = _step(pool, model, optimizer, step, config, state)
                state.step += 1
                state.plan_step = number + 1
                state.rows += sum(found.rows for found in sums)
                state.seconds += time.time() - at
                loss += sum(found.loss for found in sums)
                right += sum(found.right for found in sums)
                seen += sum(found.rows for found in sums)
                if state.step % 10 == 0:
                    line = {
                        "step": state.step,
                        "rows": state.rows,
                        "minutes": round(state.seconds / 60, 2),
                        "loss": round(loss / seen, 4),
                        "fit": round(right / seen, 4),
                        "rate": round(_rate(state, config), 4),
                        "clock": time.strftime("%H:%M:%S", time.gmtime()),
                    }
                    log.write(json.dumps(line) + "\n")
                    log.flush()
                    loss, right, seen = 0.0, 0, 0
                if time.time() - saved > config.checkpoint_minutes * 60:
                    _save(run, model, optimizer, state)
                    saved = time.time()
            state.plan_step = 0
            state.passes += 1


def _step(
    pool: ThreadPoolExecutor,
    model: NliModel,
    optimizer: torch.optim.AdamW,
    step: Sequence[Micro],
    config: Config,
    state: State,
) -> list[_Sums]:
    """One optimiser step; the longest micro-batches first, so that the threads end together."""
    queue: Queue[Micro] = Queue()
    for micro in sorted(step, key=lambda micro: -micro.batch.ids.numel()):
        queue.put(micro)
    step_rows = sum(len(micro.labels) for micro in step)
    jobs = [pool.submit(_drain, queue, model, config, step_rows) for _ in range(config.workers)]
    sums = [found for job in jobs for found in job.result()]
    share = _rate(state, config)
    for group in optimizer.param_groups:
        group["lr"] = group["base"] * share
    torch.nn.utils.clip_grad_norm_(list(model.trained().values()), config.clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return sums


def _reshuffled(rows: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """The plan's units in another order for each pass."""
    units: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        units.setdefault(row["unit"], []).append(row)
    order = list(units.values())
    random.Random(seed).shuffle(order)
    return [row for unit in order for row in unit]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m nli.train", description="Trains, or goes on.")
    parser.add_argument("run", type=Path, help="the run's folder (config.json, checkpoints, log)")
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=1e9, help="at most this long now")
    parser.add_argument("--until", default="", help="stop at this time of day (UTC, HH:MM)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a choice of config.py"
    )
    options = parser.parse_args(arguments)
    options.run.mkdir(parents=True, exist_ok=True)
    path = options.run / "config.json"
    config = Config.load(path) if path.exists() else Config()
    config = replace(
        config, **{name: json.loads(value) for name, _, value in (one.partition("=") for one in options.set)}
    )
    config.save(path)
    state = train(options.run, options.base, options.plan, config, _clock(options.until), options.minutes)
    sys.stdout.write(json.dumps(vars_of(state)) + "\n")
    return 0


def _clock(text: str) -> float:
    if not text:
        return float("inf")
    hour, minute = map(int, text.split(":"))
    now = time.gmtime()
    ahead = (hour - now.tm_hour) * 3600 + (minute - now.tm_min) * 60 - now.tm_sec
    return time.time() + (ahead if ahead > -12 * 3600 else ahead + 86400)


if __name__ == "__main__":
    sys.exit(main())
