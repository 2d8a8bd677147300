from hypothesis import given
from hypothesis import strategies as st

from proxy.checkers.builtin.tensors import batches, join, stacked

LENGTHS = st.lists(st.integers(3, 384), max_size=80)


def padded(lengths: list[int], batch: list[int]) -> int:
    inputs = stacked([join(range(lengths[at] - 3), (), 1, 2, 400) for at in batch])
    return inputs["ids"].numel()


@given(LENGTHS)
def test_every_row_is_in_one_batch(lengths: list[int]) -> None:
    assert sorted(at for batch in batches(lengths, 4096) for at in batch) == list(range(len(lengths)))


@given(LENGTHS, st.integers(16, 4096))
def test_a_batch_keeps_to_its_tokens_or_is_one_row(lengths: list[int], tokens: int) -> None:
    for batch in batches(lengths, tokens):
        assert len(batch) == 1 or padded(lengths, batch) <= tokens


@given(LENGTHS)
def test_little_is_padded(lengths: list[int]) -> None:
    """A row alone is padded by 15 tokens at most, and no batch is worth more than its call."""
    work = sum(padded(lengths, batch) + 96 for batch in batches(lengths, 4096))
    assert work <= sum(-(-length // 16) * 16 + 96 for length in lengths)


def test_rows_of_all_lengths_are_read_in_few_calls() -> None:
    lengths = [60, 70, 80, 90, 100, 110, 120, 130, 140, 150]
    found = batches(lengths, 4096)
    assert len(found) < len(lengths) / 2
    assert sum(padded(lengths, batch) for batch in found) < 1.4 * sum(lengths)


def test_without_rows_there_are_no_batches() -> None:
    assert batches([], 4096) == []
