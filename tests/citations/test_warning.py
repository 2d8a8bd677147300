from hypothesis import given
from hypothesis import strategies as st

from proxy.citations.warning import strip_warning
from proxy.claims.segment import segment

TEXTS = st.lists(
    st.sampled_from(["Paris is big.", "It lies on the Seine.", "巴黎是首都。", "- An item here"]),
    min_size=1,
    max_size=6,
).map("\n".join)


@given(TEXTS, st.sampled_from(["[?]", " (unverified)", "【存疑】"]))
def test_signs_behind_claims_come_out_without_a_trace(text: str, sign: str) -> None:
    text = strip_warning(text, sign)
    marked = text
    for claim in reversed(segment(text)):
        marked = marked[: claim.end] + sign + marked[claim.end :]
    assert strip_warning(marked, sign) == text


def test_a_sign_inside_a_sentence_stays() -> None:
    assert strip_warning("The mark [?] means doubt.[?]", "[?]") == "The mark [?] means doubt."


def test_without_a_sign_nothing_is_looked_for() -> None:
    assert strip_warning("Really[?]", "") == "Really[?]"
