"""A row that was made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Label = Literal["supported", "contradicted", "unsupported"]


@dataclass(frozen=True, slots=True)
class Made:
    """A claim and its evidence, as a rule made them; `kind` names the rule.

    `changed` are the words of the claim that are wrong by it, where that is known.
    """

    claim: str
    evidence: str
    label: Label
    kind: str
    title: str = ""
    changed: str = ""
