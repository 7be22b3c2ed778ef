"""Answers to hooks, as values. The hook's own process translates them into the host's dialect."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from fileops.core.presentation.suggestion_texts import MAX_CHARS

Decision = Literal["deny", "ask", "allow"]


class ShownText(Struct, frozen=True, kw_only=True):
    """Lines that replace those that a read has shown."""

    content: str
    """Their text."""
    start: int
    """Number of the first, from 1."""
    n_lines: int
    """How many."""
    n_total: int
    """How many lines the whole text has."""


class CorrectedText(Struct, frozen=True, kw_only=True):
    """The texts that replace those of the host's call: of an edit, or of a write."""

    old: str = ""
    """The text to replace."""
    new: str = ""
    """The text in its place."""
    content: str | None = None
    """The whole text of a write."""


class Answer(Struct, frozen=True, kw_only=True):
    """The body that answers a hook."""

    decision: Decision | None = None
    """Null leaves it to the host."""
    reason: str = ""
    """Why, for the model."""
    contexts: tuple[str, ...] = ()
    """Texts for the model."""
    shown: ShownText | None = None
    """What replaces the output of a read."""
    person: str = ""
    """A sentence for the person."""
    corrected: CorrectedText | None = None
    """Only if the host can take it."""


NOTHING = Answer()


def refusal(reason: str) -> Answer:
    return Answer(decision="deny", reason=reason)


def join(answers: list[Answer]) -> Answer:
    """Return the answer to several calls at once. The first refusal counts, else the first question."""
    deciding = next((each for wanted in ("deny", "ask", "allow") for each in answers if each.decision == wanted), None)
    return Answer(
        decision=None if deciding is None else deciding.decision,
        reason="" if deciding is None else deciding.reason,
        contexts=fit_into_answer(text for each in answers for text in each.contexts),
        shown=next((each.shown for each in answers if each.shown is not None), None),
        person="\n".join(each.person for each in answers if each.person),
        corrected=next((each.corrected for each in answers if each.corrected is not None), None),
    )


def fit_into_answer(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the first of these texts, as many as fit into one answer, but at least one."""
    found: list[str] = []
    n_left = MAX_CHARS
    for text in dict.fromkeys(filter(None, texts)):
        if not found or len(text) <= n_left:
            found.append(text)
            n_left -= len(text)
    return tuple(found)
