"""The history of edits as earlier versions kept it on the disk: append-only files of records, one for each daemon.

A record is a msgpack array after its length and checksum. Later versions appended fields: a record of the first had 15,
then 17 (edits beside changes of others), then 20 (change sets).
"""

import os
import struct
import time
import zlib
from pathlib import Path
from typing import Any

import msgspec

from fileops.model.digest import content_digest

N_FIELDS = (15, 17, 20)


def modification(number: int, old: bytes, new: bytes, at: str = "/w/f", /, **fields: Any) -> dict[str, Any]:
    """The fields of an edit that replaced the whole content."""
    return {
        "edit_id": f"e{number}", "session_id": "s", "file_path": os.fsencode(at), "path": os.fsencode(at),
        "timestamp": time.time() - 1000 + number, "kind": "modify", "reverse": [(0, len(new), old)],
        "before": content_digest(old), "after": content_digest(new), "summary": "+1 -1", "diff": b"-a\n+b\n",
        "n_added": 1, "n_removed": 1, "undoes": [], "content": zlib.compress(new), "n_foreign_hunks": 0,
        "changed_by": None, "set_id": None, "renamed_from": None, "mode": None, **fields,
    }  # fmt: skip


def record(fields: dict[str, Any], n_fields: int = N_FIELDS[-1]) -> bytes:
    """Whole, and with the right checksum. Args: n_fields: of the version that wrote it."""
    payload = msgspec.msgpack.encode(list(fields.values())[:n_fields])
    return struct.pack("<II", len(payload), zlib.crc32(payload)) + payload


def write_file(folder: Path, records: bytes, name: str = "1") -> Path:
    folder.mkdir(mode=0o700, exist_ok=True, parents=True)
    path = folder / f"{name}.edits"
    path.touch(0o600)
    path.write_bytes(records)
    return path
