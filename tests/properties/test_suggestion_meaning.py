"""What is offered after a failed edit means what the caller meant: sent as it is, it makes that edit or fails.

A quote is taken from a file and then given wrongly, as models do it. The right outcome is known: the new text in place
of what was quoted. Blanks within lines are not compared, as a wrong quote does not say which of them it means.
"""

import random

from hypothesis import assume, given
from hypothesis import strategies as st

from fileops.core import plan, splices
from fileops.core.pausing import check_nothing
from fileops.core.suggestions.steps import examine
from fileops.model.edits import Edit
from fileops.model.errors import FileOpsError
from fileops.model.suggestions import Suggestion
from support.core_models import text_of

WORDS = [
    "alpha",
    "bravo",
    "charlie",
    "delta",
    "echo",
    "foxtrot",
    "golf",
    "hotel",
    "india",
    "juliet",
    "kilo",
    "lima",
    "mike",
    "november",
    "oscar",
    "papa",
    "quebec",
    "romeo",
    "sierra",
    "tango",
    "uniform",
    "victor",
    "whiskey",
    "xray",
    "yankee",
    "zulu",
    "amber",
    "beige",
    "coral",
    "denim",
    "ebony",
    "fuchsia",
    "green",
    "hazel",
    "ivory",
]
SHAPES = (
    "{0} = {1}({2})",
    "if {0} and {1}:",
    "return {0}.{1}['{2}']",
    "{0} = {1}  # {2} {3}",
    "{0}({1}, {2});",
    "def {0}({1}, {2}):",
    "{0}",
    "}}",
    "",
)
NEW = "NEW TEXT"


class Quote:
    """Lines of a file, what of them is meant, and how it was quoted."""

    def __init__(self, seed: int) -> None:
        chosen = random.Random(seed)
        self.chosen = chosen
        words = WORDS[:]
        chosen.shuffle(words)
        self.lines: list[str] = []
        for _ in range(chosen.randint(1, 8)):
            shape = chosen.choice(SHAPES)
            names = [words.pop() if words else f"w{chosen.random()}" for _ in range(4)]
            self.lines.append("    " * chosen.randint(0, 2) + shape.format(*names) if shape else "")
        self.source = "\n".join(self.lines) + chosen.choice(["\n", "\n", "\n", ""])
        first = chosen.randrange(len(self.lines))
        last = chosen.randint(first, min(len(self.lines) - 1, first + 3))
        starts = [sum(len(line) + 1 for line in self.lines[:index]) for index in range(len(self.lines))]
        self.start, self.end = starts[first], starts[last] + len(self.lines[last])
        if chosen.random() < 0.3:  # a part of a line
            self.start = self._at_word(self.start, starts[first] + len(self.lines[first]))
        if chosen.random() < 0.3:
            self.end = self._at_word(max(self.start, starts[last]), self.end)
        elif chosen.random() < 0.6:
            self.end = min(self.end + 1, len(self.source))
        self.is_typed = False
        self.old = self._mistaken(self.source[self.start : self.end])

    def _at_word(self, low: int, high: int) -> int:
        """A place between two tokens."""
        places = [
            at
            for at in range(low, high)
            if at == low or not (self.source[at - 1].isalnum() and self.source[at].isalnum())
        ]
        return self.chosen.choice(places) if places else low

    def _mistaken(self, quote: str) -> str:
        for _ in range(self.chosen.randint(1, 2)):
            quote = self._mistake(quote)
        return quote

    def _mistake(self, quote: str) -> str:
        chosen = self.chosen
        lines = quote.split("\n")
        at = chosen.randrange(max(1, len(lines) - (not lines[-1])))  # not what is after a final newline
        is_whole_end, line = at < len(lines) - 1, lines[at]
        match chosen.choice(["reindent", "blank", "strip", "typo", "cut", "quotes", "case", "spread", "word", "grown"]):
            case "reindent":
                lines = [f"  {line}" if line else line for line in lines]
            case "blank":
                lines[at] += " "
            case "strip":
                lines = [line.strip() for line in lines]
            case "typo" if len(line.strip()) > 4:
                where = chosen.choice([index for index, char in enumerate(line) if char.isalnum()] or [0])
                lines[at] = line[:where] + line[where] + line[where:]
            case "cut" if is_whole_end and line.strip()[1:] and not line.rstrip()[-1].isalnum():
                lines[at] = line.rstrip()[:-1]
            case "grown" if is_whole_end and line.strip():
                lines[at] += chosen.choice([":", ";", ",", " {"])
            case "quotes":
                lines[at] = line.replace("'", '"')
            case "case":
                lines[at] = line.upper()
            case "spread":
                lines[at] = line.replace(" = ", "  =  ").replace(", ", ",")
            case "word":
                lines[at] = line.replace("a", "o", 1)
            case _:
                pass
        return "\n".join(lines)

    @property
    def is_ambiguous(self) -> bool:
        """Whether several places look like what is meant, so that a wrong quote does not say which one is."""
        source, meant = folded(self.source), folded(self.source[self.start : self.end])
        return source.find(meant) != source.rfind(meant) or not meant

    def outcome(self, new: str) -> str:
        return self.source[: self.start] + new + self.source[self.end :]

    def sent(self, offer: Suggestion, new: str) -> str | None:
        """The file after the same call with the offered text, None if it fails."""
        assert offer.old_string is not None
        text = text_of(self.source)
        try:
            step = plan.resolve(text, Edit(old_string=offer.old_string, new_string=new))
        except FileOpsError:
            return None
        return splices.apply(text.data, step.splices).decode()


def folded(text: str) -> str:
    return "".join(text.split()).casefold()


def without_blanks(text: str) -> list[str]:
    return ["".join(line.split()) for line in text.split("\n")]


def offers(source: str, old: str, new: str) -> list[Suggestion]:
    found = examine(
        text_of(source), [Edit(old_string=old, new_string=new)], encoding=None, own_edits=list, check=check_nothing
    )
    return [offer for offer in found.suggestions if offer.kind == "similar" and offer.old_string is not None]


@given(st.integers(0, 1 << 40))
def test_offer_sent_as_it_is_makes_the_edit_that_was_meant(seed: int) -> None:
    """R-ANS-0: no line is cut, doubled or left behind, and no other line is edited. Of several the first is meant."""
    quote = Quote(seed)
    assume(not quote.is_ambiguous)
    new = NEW + ("\n" if quote.source[quote.start : quote.end].endswith("\n") else "")
    for offer in offers(quote.source, quote.old, new)[:1]:
        after = quote.sent(offer, new)
        if after is not None:
            assert without_blanks(after) == without_blanks(quote.outcome(new)), (quote.source, quote.old, offer)
