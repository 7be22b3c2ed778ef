"""What is reported of a filesystem's URL before it is used. Requirement: R-MOUNT-1 of docs/PROTOCOL.md."""

import fsspec
import pytest

from fileops.fs.remote.mounts import find_unsupported_reason


@pytest.mark.parametrize("url", ["memory://", "file:///tmp", "sftp://host/folder", "ssh://me@host:2222/folder"])
def test_installed_filesystem_can_be_used(url: str) -> None:
    assert find_unsupported_reason(url) is None


def test_missing_package_is_named() -> None:
    fsspec.register_implementation("faraway", "no_such_package.spec.FarFileSystem")
    assert find_unsupported_reason("faraway://bucket") == "needs the package no_such_package"
