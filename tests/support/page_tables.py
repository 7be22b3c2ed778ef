"""Tables of the documents, as the tests that run them read them."""

import re
from pathlib import Path


def rows(page: Path, sentence: str) -> list[list[str]]:
    """The cells of the table below a sentence, without the header, links as their text."""
    table = page.read_text(encoding="utf-8").partition(sentence)[2].lstrip().partition("\n\n")[0]
    plain = re.sub(r" \(\[.*?\]\(.*?\)\)|\]\(.*?\)|[\[`]", "", table)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in plain.splitlines()[2:]]
