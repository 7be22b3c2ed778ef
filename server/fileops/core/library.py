"""`valid` and `execute` for programs that edit a text in memory: the calls that `fileops` exports.

Edit and MultiEdit use the same function for each of their edits, `core.plan.resolve`. A `str` is edited as UTF-8
without a byte order mark; `bytes` are edited as the content of a file.
"""

from typing import overload

from fileops.core import plan
from fileops.core.presentation.failures import failure_text
from fileops.core.text import detect_format
from fileops.model.errors import FileOpsError
from fileops.model.files import Text, TextFormat

# Lone surrogates, which Python makes from bytes that are not UTF-8, come back unchanged.
_SURROGATES = "surrogatepass"


class EditError(ValueError):
    """An edit that cannot be made. The message is the one that `valid` returns; `code` is that of a result."""

    def __init__(self, sentence: str, code: str) -> None:
        super().__init__(sentence)
        self.code = code


def valid(content: str | bytes, old_string: str, new_string: str, replace_all: bool = False) -> str | None:
    """Return why the edit cannot be made on this content, in the words of the tool Edit, or None.

    An empty `old_string` creates a file, so it is never valid for existing content. Raises: TypeError.
    """
    text = _text_of(content)
    _require_arguments(old_string, new_string, replace_all=replace_all)
    failure = plan.valid(text, old_string, new_string, replace_all)
    return None if failure is None else _sentence(failure)


@overload
def execute(content: str, old_string: str, new_string: str, replace_all: bool = False) -> str: ...
@overload
def execute(content: bytes, old_string: str, new_string: str, replace_all: bool = False) -> bytes: ...
def execute(content: str | bytes, old_string: str, new_string: str, replace_all: bool = False) -> str | bytes:
    """Return the content after the edit, in the type of `content`. Nothing outside the matches changes.

    Raises: EditError, whenever `valid` returns a message; TypeError.
    """
    text = _text_of(content)
    _require_arguments(old_string, new_string, replace_all=replace_all)
    try:
        after = plan.execute(text, old_string, new_string, replace_all)
    except FileOpsError as failure:
        raise EditError(_sentence(failure), failure.code) from None
    return after.data.decode("utf-8", _SURROGATES) if isinstance(content, str) else after.data


def _text_of(content: object) -> Text:
    if isinstance(content, str):
        return Text(data=content.encode("utf-8", _SURROGATES), format=TextFormat())
    if isinstance(content, bytes):
        return Text(data=content, format=detect_format(content))
    raise TypeError(f"content must be str or bytes, not {type(content).__name__}")


def _require_arguments(old_string: object, new_string: object, *, replace_all: object) -> None:
    """Raises: TypeError, for `"false"` and the like, which would be read as true."""
    for name, value, kind in (
        ("old_string", old_string, str),
        ("new_string", new_string, str),
        ("replace_all", replace_all, bool),
    ):
        if not isinstance(value, kind):
            raise TypeError(f"{name} must be {kind.__name__}, not {type(value).__name__}")


def _sentence(failure: FileOpsError) -> str:
    return failure_text(failure, "edit", "")
