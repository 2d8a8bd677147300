"""From rows to weights that the checker loads: plan, fit, calibrate, export."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional

from proxy.checkers import nli
from proxy.checkers.nli.batch import batch_of
from proxy.checkers.nli.model import load_adapted
from proxy.types import Pair
from tests.training.toys import SETTINGS, toy_base, toy_recipe
from training.__main__ import STEPS, main
from training.calibrate import calibrate, trained_model
from training.export import export
from training.fit import State, fit, rate_share
from training.lora import AdaptedLinear, adapted, restore, trained
from training.plan import make_plan, read_plan
from training.recipes import RECIPES, Recipe, Settings
from training.run import CHECKPOINT, TRAINED, Run, TrainingError, open_run, read_json

NewRun = Callable[[], Run]


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Recipe:
    folder = tmp_path_factory.mktemp("toy")
    return toy_recipe(toy_base(folder / "base"), folder / "data")


@pytest.fixture(scope="module")
def data(recipe: Recipe) -> Path:
    return Path(recipe.base).parent / "data"


@pytest.fixture
def new_run(recipe: Recipe, data: Path, tmp_path: Path) -> NewRun:
    """Makes runs that have a plan."""
    made = 0

    def make() -> Run:
        nonlocal made
        made += 1
        run = open_run(tmp_path / f"run{made}")
        make_plan(recipe, Path(recipe.base), data, run)
        return run

    return make


def stopping(after: int) -> Callable[[State], None]:
    """Ends a run after so many steps, as an interrupt would."""

    def watch(state: State) -> None:
        if state.step >= after:
            raise KeyboardInterrupt

    return watch


def rows_of(run: Run) -> int:
    rows: int = read_json(run.path("trained.json"))["rows"]
    return rows


def test_a_toy_task_is_learnt_calibrated_and_served(recipe: Recipe, data: Path, new_run: NewRun) -> None:
    run, base = new_run(), Path(recipe.base)
    fit(run, base, replace(SETTINGS, total_rows=1200))
    calibrate(recipe, base, data, run)
    loaded = nli.load(export(recipe, base, run, run.path("weights")))
    said = {"truly": "supported", "never": "contradicted", "perhaps": "unsupported"}
    pairs = [
        Pair("maple has mills", f"The town of maple {word} has mills and a cedar river .") for word in said
    ]
    windows = [loaded.reader.read(pair)[0].tokens for pair in pairs]
    with torch.inference_mode():
        logits = loaded.model(batch_of(windows, loaded.reader.special))
    assert logits.argmax(-1).tolist() == [0, 1, 2]
    calibration = loaded.manifest.calibration["en"]
    assert calibration.scale > 0
    assert 0.5 <= calibration.contradiction < 1
    assert loaded.manifest.sources[0]["licence"] == "MIT"


def test_what_is_exported_computes_what_was_trained(recipe: Recipe, data: Path, new_run: NewRun) -> None:
    run, base = new_run(), Path(recipe.base)
    fit(run, base, replace(SETTINGS, total_rows=480))
    calibrate(recipe, base, data, run)
    loaded = nli.load(export(recipe, base, run, run.path("weights")))
    plan = read_plan(run)
    batch = batch_of([plan.unit(line)[0].tokens for line in plan.lines[:9]], loaded.reader.special)
    adapter = load_file(run.path("weights") / "adapter.safetensors")
    exact = load_adapted(base, SETTINGS.hidden, adapter, torch.float32)
    with torch.inference_mode():
        served, computed = loaded.model(batch), exact(batch)
        merged = trained_model(recipe, base, run)(batch)
        unmerged = adapted(base, SETTINGS).eval()
        own = {name: tensor.float() for name, tensor in load_file(run.path(TRAINED)).items()}
        restore(unmerged, own)
        trained = unmerged(batch)
    torch.testing.assert_close(served, merged, rtol=5e-2, atol=5e-2)  # it may compute in bfloat16
    torch.testing.assert_close(served, trained, rtol=5e-2, atol=5e-2)
    torch.testing.assert_close(computed, trained, rtol=1e-3, atol=1e-3)
    assert served.std() > 0.1


@pytest.mark.parametrize("after", [3, 13])
def test_a_stopped_run_goes_on_to_the_same_bytes(recipe: Recipe, new_run: NewRun, after: int) -> None:
    """The second stop is while the learning rate falls."""
    settings = replace(SETTINGS, total_rows=240, checkpoint_minutes=0)
    whole, stopped = new_run(), new_run()
    expected = fit(whole, Path(recipe.base), settings).read_bytes()
    with pytest.raises(KeyboardInterrupt):
        fit(stopped, Path(recipe.base), settings, watch=stopping(after))
    assert not stopped.path(TRAINED).exists()
    assert fit(stopped, Path(recipe.base), settings).read_bytes() == expected


def test_a_run_that_is_done_changes_nothing(recipe: Recipe, new_run: NewRun) -> None:
    settings = replace(SETTINGS, total_rows=160)
    run = new_run()
    done = fit(run, Path(recipe.base), settings).read_bytes()
    assert fit(run, Path(recipe.base), settings, watch=stopping(0)).read_bytes() == done


def test_a_run_can_cool_down_early_and_go_on_later(recipe: Recipe, new_run: NewRun) -> None:
    run, base = new_run(), Path(recipe.base)
    settings = replace(SETTINGS, total_rows=320, checkpoint_minutes=0)
    with pytest.raises(KeyboardInterrupt):
        fit(run, base, settings, watch=stopping(5))
    kept = torch.load(run.path(CHECKPOINT), weights_only=True)["state"]["rows"]
    early = fit(run, base, settings, cool_down=64).read_bytes()
    assert kept + 64 <= rows_of(run) < kept + 64 + 2 * SETTINGS.step_rows
    assert torch.load(run.path(CHECKPOINT), weights_only=True)["state"]["rows"] == kept
    assert fit(run, base, settings).read_bytes() != early
    assert rows_of(run) >= 320


def test_there_must_be_something_to_cool_down(recipe: Recipe, new_run: NewRun) -> None:
    with pytest.raises(TrainingError, match="nothing to cool down"):
        fit(new_run(), Path(recipe.base), SETTINGS, cool_down=64)


def test_the_learning_rate_rises_stays_and_falls() -> None:
    settings = Settings(warmup_steps=10, least_rate=0.1)
    assert rate_share(State("", step=0), settings) == pytest.approx(0.1)
    assert rate_share(State("", step=50, rows=900), settings) == 1
    cooling = State("", step=50, rows=950, cooling_from=900, cooling_rows=100)
    assert rate_share(cooling, settings) == pytest.approx(0.55)
    assert rate_share(replace(cooling, rows=1000), settings) == pytest.approx(0.1)


def test_a_checkpoint_of_another_plan_is_refused(recipe: Recipe, data: Path, new_run: NewRun) -> None:
    run = new_run()
    settings = replace(SETTINGS, total_rows=160)
    fit(run, Path(recipe.base), settings)
    with pytest.raises(TrainingError, match="other data or settings"):
        make_plan(replace(recipe, settings=replace(SETTINGS, seed=4)), Path(recipe.base), data, run)
    run.path("plan.json").write_text(run.path("plan.json").read_text().replace('made_of": "', 'made_of": "0'))
    with pytest.raises(TrainingError, match="of another plan"):
        fit(run, Path(recipe.base), settings)


def test_one_command_makes_the_weights(
    recipe: Recipe,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(RECIPES, "base", recipe)
    options = ["--size", "base", "--data", str(data), "--run", str(tmp_path / "run")]
    out = tmp_path / "weights"
    assert main(["make", *options, "--rows", "800", "--out", str(out)]) == 0
    assert nli.load(out).manifest.base == recipe.base
    assert main(["measure", *options, "--limit", "12"]) == 0
    printed = capsys.readouterr().out
    assert "train/fresh.jsonl" in printed
    serving = tmp_path / "serving"
    monkeypatch.setattr("training.__main__.packaged", lambda _size: serving)
    own = ["--size", "base", "--run", str(tmp_path / "run")]
    assert main(["export", *own]) == 0
    assert not serving.exists()  # what serves is left as it is, unless one asks
    assert main(["export", *own, "--install", "--out", str(out)]) == 2
    assert main(["export", *own, "--install"]) == 0
    assert main(["measure", "--size", "base", "--data", str(data), "--limit", "12"]) == 0
    assert capsys.readouterr().out == printed


def test_a_step_says_what_must_come_before_it(
    recipe: Recipe,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(RECIPES, "base", recipe)
    options = ["--size", "base", "--run", str(tmp_path / "run")]
    assert main(["fit", *options]) == 2
    assert "do `python -m training plan` first" in capsys.readouterr().err
    afile = tmp_path / "afile"
    afile.write_text("")
    assert main(["plan", *options, "--data", str(data), "--run", str(afile)]) == 2
    assert capsys.readouterr().err == f"Error: {afile}: File exists.\n"


@pytest.mark.parametrize(
    ("step", "option"),
    [
        ("plan", "--out"),
        ("plan", "--device"),
        ("fit", "--data"),
        ("calibrate", "--workers"),
        ("export", "--data"),
        ("measure", "--cool-down"),
        ("make", "--limit"),
    ],
)
def test_an_option_of_another_step_is_refused(
    step: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    own = ["--size", "base", "--run", "run", *(["--data", "data"] if "--data" in STEPS[step].options else [])]
    with pytest.raises(SystemExit) as ended:
        main([step, *own, option, "5"])
    assert ended.value.code == 2
    assert f"unrecognized arguments: {option} 5" in capsys.readouterr().err


@pytest.mark.parametrize("rows", ["abc", "0", "-3", "1.5"])
def test_a_number_of_rows_that_is_none_is_refused(rows: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["make", "--size", "base", "--data", "data", "--run", "run", "--rows", rows])
    assert ended.value.code == 2
    assert f"argument --rows: {rows!r} is not a whole number of 1 or more" in capsys.readouterr().err


def test_a_run_that_begins_with_weights_gives_their_mean_with_what_it_learnt(
    recipe: Recipe, new_run: NewRun
) -> None:
    first, second, base = new_run(), new_run(), Path(recipe.base)
    begun = load_file(fit(first, base, replace(SETTINGS, total_rows=200)))
    given = fit(second, base, replace(SETTINGS, total_rows=200), begin=first.path(TRAINED))
    first.path(TRAINED).unlink()
    checkpoint = torch.load(second.path(CHECKPOINT), weights_only=True)
    assert checkpoint["state"]["rows"] > 0
    again = fit(second, base, replace(SETTINGS, total_rows=200), begin=Path("gone"))
    ended = trained(adapted(base, SETTINGS))
    mean = load_file(given)
    assert mean.keys() == begun.keys() == ended.keys()
    assert any(not torch.equal(mean[name], begun[name]) for name in begun)
    assert all(torch.equal(tensor, load_file(again)[name]) for name, tensor in mean.items())


def test_a_manifest_says_what_each_pass_has_learnt(recipe: Recipe, data: Path, new_run: NewRun) -> None:
    first, second, base = new_run(), new_run(), Path(recipe.base)
    fit(first, base, replace(SETTINGS, total_rows=200))
    rows = rows_of(first)
    calibrate(recipe, base, data, first)
    weights = export(recipe, base, first, first.path("weights"))
    sources = read_json(weights / "manifest.json")["sources"]
    plan = read_plan(first)
    assert rows < plan.rows
    drawn = sum(int(source["rows"]) for source in plan.sources)
    assert sum(source["rows"] for source in sources) == pytest.approx(drawn * rows / plan.rows, abs=5)
    fit(second, base, replace(SETTINGS, total_rows=200), begin=weights / "adapter.safetensors")
    calibrate(recipe, base, data, second)
    again = read_json(export(recipe, base, second, second.path("weights")) / "manifest.json")["sources"]
    assert again == [*sources, *({**source, "pass": 2} for source in sources)]


def test_what_a_run_may_begin_with_is_checked(recipe: Recipe, new_run: NewRun, tmp_path: Path) -> None:
    run, base = new_run(), Path(recipe.base)
    (tmp_path / "broken").write_bytes(b"x")
    for name in ("broken", "gone"):
        with pytest.raises(TrainingError, match="can't be begun with"):
            fit(run, base, SETTINGS, begin=tmp_path / name)
    fit(run, base, replace(SETTINGS, total_rows=100))
    with pytest.raises(TrainingError, match="another --run"):
        fit(run, base, SETTINGS, begin=run.path(TRAINED))


def test_an_adapted_layer_has_the_gradients_of_the_changed_weight() -> None:
    torch.manual_seed(0)
    layer = AdaptedLinear(nn.Linear(6, 5), rank=2).double()
    nn.init.normal_(layer.lora_up)
    states = torch.randn(3, 4, 6, dtype=torch.float64, requires_grad=True)
    inputs = (states, layer.lora_down, layer.lora_up)
    found = torch.autograd.grad(layer(states).square().sum(), inputs)
    changed = layer.weight + layer.lora_up @ layer.lora_down
    expected = torch.autograd.grad(functional.linear(states, changed, layer.bias).square().sum(), inputs)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
