"""The lines of a patch's text, and the refusals that name one of them."""

from fileops.model.errors import InvalidPatch


class Source:
    r"""The lines of a patch, split at "\n" only.

    A "\r" at the end of a line belongs to the text of a file with CRLF. But if the first non-blank line also ends in
    one, the patch itself was written with CRLF, and no "\r" at the end of a line means anything.
    """

    def __init__(self, text: str) -> None:
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        first = next((line for line in lines if line.strip()), "")
        if first.endswith("\r"):
            lines = [line.removesuffix("\r") for line in lines]
        self.lines = lines

    def refusal(self, index: int, reason: str) -> InvalidPatch:
        """The error for the line with this 0-based index. Args: reason: a clause for after a colon."""
        return InvalidPatch(line=min(index, max(len(self.lines) - 1, 0)) + 1, reason=reason)


def quote(line: str) -> str:
    """Return the line for a message: shortened, and in quotes."""
    return repr(line if len(line) <= 80 else f"{line[:80]}…")
