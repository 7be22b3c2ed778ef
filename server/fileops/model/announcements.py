"""An edit that a host's own tool is about to make, as its hook has announced it."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from fileops.model.files import Snapshot
from fileops.model.sessions import SessionName

MAX_COMPARED_BYTES = 4 << 20  # of a file whose contents are compared

# A content, or None for no file.
Content = bytes | None


class Announced(Struct, frozen=True, kw_only=True):
    """An edit that a host's own tool is about to make.

    call_id: the host's; "" if it gives none. before: the file when it was announced. results_of: the contents that the
    edit makes of a content; more than one if the host may write it in several ways, none if it does not apply.
    is_made: if the contents cannot be listed, whether the edit makes the second content of the first. merged_with: the
    edit applied to another content, with that content's other lines; None if they conflict. is_whole:
    whether the host replaces the whole text, whatever it is. is_kept: a person has accepted it.
    """

    call_id: str
    session_id: SessionName
    label: str
    given_path: str
    before: Snapshot
    results_of: Callable[[Content], Sequence[Content]]
    merged_with: Callable[[bytes], Content]
    is_made: Callable[[Content, Content], bool] | None = None
    is_whole: bool = False
    is_kept: bool = False

    @property
    def path(self) -> str:
        return self.before.path
