"""What fits into an answer to a hook."""

from fileops.core.presentation.suggestion_texts import MAX_CHARS
from fileops.service.companion.answers import fit_into_answer


def test_texts_fit_into_an_answer_in_their_order_and_the_first_one_always() -> None:
    long, half = "x" * (MAX_CHARS + 1), "y" * (MAX_CHARS // 2)
    assert fit_into_answer([long, "short"]) == (long,)
    assert fit_into_answer([half, "", half, long, "short"]) == (half, "short")
    assert fit_into_answer(["a" * (MAX_CHARS - 1), "b", "c"]) == ("a" * (MAX_CHARS - 1), "b")
