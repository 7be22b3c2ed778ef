"""Encodings, line ends and words of the model. Python's own codecs only: nothing of the server is imported."""

import codecs
import random
import re
from dataclasses import dataclass

BOMS = (  # the longer ones first: that of UTF-32 LE begins with that of UTF-16 LE
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
UNIT_BYTES = {"utf-8": 1, "utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}
WORD = re.compile(r"[^\s(),=-]+")
_TAILS = ("", "", "", "é", "漢", "💥", "ß", "_")
_GAPS = (" ", " ", ", ", "(", " = ")


@dataclass(frozen=True, slots=True)
class Format:
    """How a new file is written. junk: bytes that are not text in this encoding."""

    codec: str
    bom: bytes = b""
    newlines: tuple[str, ...] = ("\n",)
    junk: bytes = b""


FORMATS = (
    Format("utf-8"),
    Format("utf-8", codecs.BOM_UTF8),
    Format("utf-16-le", codecs.BOM_UTF16_LE),
    Format("utf-16-be", codecs.BOM_UTF16_BE, ("\r\n",)),
    Format("utf-32-le", codecs.BOM_UTF32_LE),
    Format("utf-32-be", codecs.BOM_UTF32_BE),
    Format("utf-8", junk=b"caf\xe9 na\xefve "),  # Latin-1 in what is read as UTF-8
    Format("utf-8", newlines=("\r\n",)),
    Format("utf-8", newlines=("\n", "\r\n")),
)


def codec_of(data: bytes) -> tuple[str, bytes]:
    """The encoding that the byte order mark names, and the mark; UTF-8 without any."""
    return next(((codec, bom) for bom, codec in BOMS if data.startswith(bom)), ("utf-8", b""))


def text_of(data: bytes) -> str:
    """As an editor shows it: without the mark, U+FFFD for what is no text, line ends as they are."""
    codec, bom = codec_of(data)
    return data[len(bom) :].decode(codec, "replace")


def lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def words_of(text: str) -> list[str]:
    return WORD.findall(text)


class Vocabulary:
    """Words that were never used before. A mixture of two of them is, almost surely, none of them."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def word(self, dice: random.Random) -> str:
        while True:
            word = f"v{dice.randrange(10 ** dice.randint(1, 4))}{dice.choice(_TAILS)}"
            if word not in self._used:
                self._used.add(word)
                return word

    def line(self, dice: random.Random) -> str:
        return "".join(self.word(dice) + dice.choice(_GAPS) for _ in range(dice.randint(1, 4))).rstrip()

    def content(self, dice: random.Random, form: Format) -> bytes:
        """A whole file of some lines, the last one with or without a line end."""
        lines = [self.line(dice) for _ in range(dice.randint(1, 7))]
        text = "".join(line + dice.choice(form.newlines) for line in lines)
        if dice.random() < 0.3:
            text = text.rstrip()
        data = form.bom + text.encode(form.codec)
        if form.junk:
            at = data.index(b"\n") + 1 if b"\n" in data else len(data)
            data = data[:at] + form.junk + data[at:]
        return data

    def change(self, dice: random.Random, text: str) -> tuple[str, str]:
        """(old, new): a small change of `text`, as an agent asks for it."""
        places = list(WORD.finditer(text))
        if not places:
            return ("nothing of the kind", self.word(dice))
        place = dice.choice(places)
        word, fresh = place[0], self.word(dice)
        line = text[text.rfind("\n", 0, place.start()) + 1 :].partition("\n")[0]
        match dice.randrange(7):
            case 0:  # a word goes, with what separates it from the next
                gap = text[place.end() : place.end() + 1]
                return (word + gap, "") if gap and gap != "\r" else (word, "")
            case 1:
                return (word, f"{word} {fresh}")
            case 2:
                return (f"{line}\n", "") if f"{line}\n" in text else (line, fresh)
            case 3:
                return (f"{line}\n", f"{line}\n{fresh}\n") if f"{line}\n" in text else (word, f"{fresh}\n{word}")
            case _:
                return (word, fresh)
