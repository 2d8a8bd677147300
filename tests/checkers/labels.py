"""Each prompt, and its labels as a model writes them."""

from __future__ import annotations

from proxy.types import PromptName

NAMES: tuple[PromptName, ...] = ("ceg", "ceg_yes_no", "refchecker", "citecheck")
YES: dict[PromptName, str] = {
    "ceg": "Factual",
    "ceg_yes_no": "Yes",
    "refchecker": "Entailment",
    "citecheck": "是",
}
NO: dict[PromptName, str] = {
    "ceg": "Nonfactual",
    "ceg_yes_no": "No",
    "refchecker": "Neutral",
    "citecheck": "否",
}
