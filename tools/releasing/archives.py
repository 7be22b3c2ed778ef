"""Archives whose bytes depend on the names and contents of their files, and on the time of the release, alone."""

import gzip
import io
import tarfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

Files = Mapping[str, bytes]  # by the path in the archive


def files_below(folder: Path, prefix: str = "") -> dict[str, bytes]:
    """Return the files of a folder."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {prefix + path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def write_zip(path: Path, files: Files, epoch: int) -> None:
    """Write a zip archive of regular files."""
    moment = time.gmtime(max(epoch, 315_532_800))[:6]  # a zip archive knows no time before 1980
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, so that the mode counts
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, files[name])


def write_tar_gz(path: Path, files: Files, epoch: int) -> None:
    """Write a compressed tar archive of regular files."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size = len(files[name])
            entry.mtime = epoch
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(files[name]))
    path.write_bytes(gzip.compress(tar.getvalue(), 9, mtime=epoch))
