"""Quotations in place of sentences of a stream that the evidence contradicts (`regeneration.quote`)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from proxy.claims.segment import segment
from proxy.correction.single import quoted
from proxy.correction.splice import fitted
from proxy.engine.corrector import report
from proxy.engine.delivery import CheckedText
from proxy.engine.verifier import Verifier
from proxy.types import Claim, CorrectionStep, Finding, Verdict


class Quotes:
    """The quotations of one reply, each by the claim that it replaces. A claim is asked about once.

    Args:
        verifier: checks the quotations: one that does not hold is not used.
        deadline: seconds for checking one.
    """

    def __init__(self, verifier: Verifier, deadline: float) -> None:
        self._verifier = verifier
        self._deadline = deadline
        self._quotes: dict[Claim, Finding | None] = {}
        self._made = 0

    def begin_anew(self) -> None:
        """Forgets the claims: the text goes on in another reply, with the quotations in what is before it."""
        self._quotes.clear()

    def steps(self, corrections: int) -> tuple[CorrectionStep, ...]:
        """What was quoted, as a step behind those `corrections` that asked a model."""
        return (CorrectionStep(corrections, "quote", self._made, "helped"),) if self._made else ()

    async def put_into(self, checked: CheckedText, question: str) -> CheckedText:
        """The text with a quotation for each claim that is contradicted, where one fits its place."""
        before: list[Claim] = []
        for finding in checked.findings:
            if finding.verdict is Verdict.CONTRADICTED and finding.claim not in self._quotes:
                self._quotes[finding.claim] = await self._quotation(finding, question, before)
            before.append(finding.claim)
        text, findings = self.replaced(checked.text, checked.findings)
        return replace(checked, text=text, findings=findings)

    def replaced(self, text: str, findings: Sequence[Finding]) -> tuple[str, tuple[Finding, ...]]:
        """A text and its findings with the quotations that are there."""
        pieces: list[str] = []
        moved: list[Finding] = []
        position = shift = 0
        for finding in findings:
            claim, quotation = finding.claim, self._quotes.get(finding.claim)
            if quotation is None:
                moved.append(_moved(finding, shift))
                continue
            pieces += [text[position : claim.start], quotation.claim.text]
            moved.append(_moved(quotation, claim.start + shift))
            position = claim.end
            shift += len(quotation.claim.text) - (claim.end - claim.start)
        return "".join([*pieces, text[position:]]), tuple(moved)

    async def _quotation(self, finding: Finding, question: str, before: Sequence[Claim]) -> Finding | None:
        """The finding of the quotation, from offset 0, or None where none is known, fits, or holds."""
        text = fitted(quoted(finding) or "", finding.claim)
        claims = segment(text) if text else ()
        if len(claims) != 1 or text is None:
            return None
        claim = replace(claims[0], start=0, end=len(text), text=text)
        until = asyncio.get_running_loop().time() + self._deadline
        (result,) = (await self._verifier.verify([claim], question, until, before)).findings
        if result.verdict is not Verdict.SUPPORTED:
            return None
        self._made += 1
        report(CorrectionStep(0, "quote", 1, "helped"))
        return replace(result, usage=result.usage + finding.usage)


def _moved(finding: Finding, shift: int) -> Finding:
    """The finding at a place further on."""
    if not shift:
        return finding
    claim = replace(finding.claim, start=finding.claim.start + shift, end=finding.claim.end + shift)
    return replace(finding, claim=claim, parts=tuple(_moved(part, shift) for part in finding.parts))
