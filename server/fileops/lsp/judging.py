"""What an open document is beside its file on disk. Values and plain functions: no lock, no disk, no client.

An open document is the truth while it is open (docs/PROTOCOL.md, "Open documents"):
- it reads the same as the disk: clean. The disk's own bytes serve, and edits go to disk;
- the person changed it: dirty. Its text serves, and edits go through the editor;
- it differs, and not by the person's hand (the disk moved, or our own edit is not reloaded yet): the disk stands.
"""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from fileops.core import text as texts
from fileops.lsp.documents import DocumentText
from fileops.lsp.textedits import encode_document
from fileops.model import Snapshot, Stamp, TextFormat

REGULAR_FILE = 0o100644  # mode of a document that has no file yet

Kind = Literal["clean", "dirty", "disk"]


class OpenDocument(Struct, frozen=True, kw_only=True):
    """State of one open document. serial: grows with every change of state, of any document.

    is_touched: changed by the person since open or save; None until the first look at the disk. synced: the text
    at the last moment when it read the same as the disk. is_foreign: the disk holds bytes that are no text to us,
    so the editor reads it in another encoding.
    """

    uri: str
    path: str
    version: int
    text: DocumentText
    serial: int
    changed_ns: int
    canonical: str | None = None
    is_touched: bool | None = None
    synced: str | None = None
    is_foreign: bool = False


class Judged(Struct, frozen=True, kw_only=True):
    """What a document is beside a disk of this stamp. data, format: of a dirty one."""

    serial: int
    kind: Kind
    disk_stamp: Stamp | None
    taken_ns: int
    data: bytes = b""
    format: TextFormat


class Truth(Struct, frozen=True):
    """The document that counts at a path. serials: of all documents that are open there."""

    document: OpenDocument
    judged: Judged
    serials: frozenset[int]

    def snapshot(self, path: str) -> Snapshot:
        """Of a dirty document."""
        return snapshot_of(path, self.document, self.judged)

    @property
    def stamp(self) -> Stamp:
        """Of a dirty document."""
        return _stamp_of(self.document, self.judged)


def judge(document: OpenDocument, disk: Snapshot) -> tuple[Judged, OpenDocument]:
    """What the document is beside this disk, and its state with what the look has taught about it."""
    fmt = texts.detect_format(disk.data)
    is_same = disk.exists and comparable(texts.decode(disk.data, fmt)) == comparable(document.text.text)
    kind: Kind
    if is_same:
        kind = "clean"
        document = replace(document, is_touched=False, synced=document.text.text)
    else:
        is_first_look = document.is_touched is None
        # A document that is opened with another text than the file's holds changes of an earlier session.
        touched = is_first_look or bool(document.is_touched)
        is_foreign = document.is_foreign or (is_first_look and disk.exists and not _is_text_file(disk.data, fmt))
        document = replace(document, is_touched=touched, is_foreign=is_foreign)
        kind = "dirty" if touched else "disk"
    data = encode_document(document.text.text, fmt) if kind == "dirty" else b""
    judged = Judged(
        serial=document.serial, kind=kind, disk_stamp=disk.stamp, taken_ns=disk.taken_ns, data=data, format=fmt
    )
    return judged, document


def comparable(text: str) -> str:
    """As texts of editors and files are compared: without BOM, line ends as LF."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def is_text(document: DocumentText, text: str) -> bool:
    return document.n_chars == len(text) and document.text == text


def snapshot_of(path: str, document: OpenDocument, judged: Judged) -> Snapshot:
    """Of a dirty document."""
    stamp = _stamp_of(document, judged)
    return Snapshot(
        path=path, stamp=stamp, data=judged.data, taken_ns=stamp.mtime_ns, source="buffer", version=document.version
    )


def _stamp_of(document: OpenDocument, judged: Judged) -> Stamp:
    """Of a dirty document: the file's, with the buffer's size and the time of its last change."""
    disk = judged.disk_stamp
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


def _is_text_file(data: bytes, fmt: TextFormat) -> bool:
    try:
        str(memoryview(data)[len(fmt.bom) :], fmt.encoding)
    except UnicodeDecodeError:
        return False
    return True
