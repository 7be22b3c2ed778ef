"""What an open document is beside its file on disk. Values and plain functions: no lock, no disk, no client.

An open document is the truth while it is open (docs/PROTOCOL.md, "Open documents"):
- it reads the same as the disk: clean. The disk's own bytes serve, and edits go to disk;
- the person changed it: dirty. Its text serves, and edits go through the editor;
- it differs, and not by the person's hand (the disk moved, or our own edit is not reloaded yet): the disk stands;
- its text is in doubt: unknown. Then neither it nor the disk may serve.
"""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from fileops.core import text as texts
from fileops.fs.overlay.text_document import TextDocument
from fileops.fs.overlay.text_edits import encode_document
from fileops.model.digest import content_digest
from fileops.model.files import Snapshot, Stamp, TextFormat

REGULAR_FILE = 0o100644  # mode of a document that has no file yet

Kind = Literal["clean", "dirty", "disk", "unknown"]


class Doubt(Struct, frozen=True, kw_only=True):
    """Why the text that the editor shows is not known.

    is_lost: the text that we have is not the one that the next change is made of, so only a whole text ends the doubt;
    else any change does.
    """

    reason: str
    is_lost: bool = True


class OpenDocument(Struct, frozen=True, kw_only=True):
    """State of one open document. serial: grows with every change of state, of any document.

    is_user_modified: changed by the person since open or save; None until the first look at the disk. synced: the text
    at the last moment when it read the same as the disk. is_foreign: the disk holds bytes that are no text to us,
    so the editor reads it in another encoding. doubt: None where the text is known.
    """

    uri: str
    path: str
    version: int
    text: TextDocument
    serial: int
    changed_ns: int
    is_user_modified: bool | None = None
    synced: str | None = None
    is_foreign: bool = False
    doubt: Doubt | None = None


class DiskFacts(Struct, frozen=True, kw_only=True):
    """What a look at the disk has found at a path. digest: of the text; None where there is no file."""

    path: str
    stamp: Stamp | None
    taken_ns: int
    format: TextFormat
    digest: bytes | None
    is_text: bool

    def shows(self, text: str) -> bool:
        return self.digest is not None and _text_digest(text) == self.digest


class DocumentState(Struct, frozen=True, kw_only=True):
    """What a document of this serial is beside this disk. data: of a dirty one."""

    serial: int
    kind: Kind
    disk: DiskFacts
    data: bytes = b""


class Truth(Struct, frozen=True):
    """The document that counts at a path. judged: None where its text is not known.

    serials: of all documents that are open there.
    """

    document: OpenDocument
    judged: DocumentState | None
    serials: frozenset[int]

    @property
    def kind(self) -> Kind:
        return "unknown" if self.judged is None else self.judged.kind

    def snapshot(self, path: str) -> Snapshot:
        """Of a dirty document."""
        assert self.judged is not None
        return snapshot_of(path, self.document, self.judged)


def facts_of(disk: Snapshot) -> DiskFacts:
    fmt = texts.detect_format(disk.data)
    return DiskFacts(
        path=disk.path, stamp=disk.stamp, taken_ns=disk.taken_ns, format=fmt,
        digest=_text_digest(texts.decode(disk.data, fmt)) if disk.exists else None,
        is_text=_is_text_file(disk.data, fmt),
    )  # fmt: skip


def after_look(document: OpenDocument, disk: DiskFacts, *, is_same: bool) -> OpenDocument:
    """The document with what a look at the disk has taught about it. is_same: it showed the disk's text."""
    if is_same:
        return replace(document, is_user_modified=False, synced=document.text.text)
    is_first_look = document.is_user_modified is None
    return replace(
        document,
        # A document that is opened with another text than the file's holds changes of an earlier session.
        is_user_modified=is_first_look or document.is_user_modified,
        is_foreign=document.is_foreign or (is_first_look and disk.stamp is not None and not disk.is_text),
    )


def judge(document: OpenDocument, disk: DiskFacts, *, is_same: bool) -> DocumentState:
    """document: after the look."""
    kind: Kind = "clean" if is_same else "dirty" if document.is_user_modified else "disk"
    data = encode_document(document.text.text, disk.format) if kind == "dirty" else b""
    return DocumentState(serial=document.serial, kind=kind, disk=disk, data=data)


def comparable(text: str) -> str:
    """As texts of editors and files are compared: without BOM, line ends as LF."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def is_text(document: TextDocument, text: str) -> bool:
    return document.n_chars == len(text) and document.text == text


def snapshot_of(path: str, document: OpenDocument, judged: DocumentState) -> Snapshot:
    """Of a dirty document."""
    stamp = _stamp_of(document, judged)
    return Snapshot(
        path=path, stamp=stamp, data=judged.data, taken_ns=stamp.mtime_ns, source="buffer", version=document.version
    )


def _stamp_of(document: OpenDocument, judged: DocumentState) -> Stamp:
    """Of a dirty document: the file's, with the buffer's size and the time of its last change."""
    disk = judged.disk.stamp
    return Stamp(
        dev=disk.dev if disk else 0,
        ino=disk.ino if disk else 0,
        size_bytes=len(judged.data),
        mtime_ns=document.changed_ns,
        ctime_ns=document.changed_ns,
        mode=disk.mode if disk else REGULAR_FILE,
        uid=disk.uid if disk else 0,
        gid=disk.gid if disk else 0,
        n_links=disk.n_links if disk else 1,
    )


def _text_digest(text: str) -> bytes:
    return content_digest(comparable(text).encode("utf-8", "surrogatepass"))


def _is_text_file(data: bytes, fmt: TextFormat) -> bool:
    try:
        str(memoryview(data)[len(fmt.bom) :], fmt.encoding)
    except UnicodeDecodeError:
        return False
    return True
