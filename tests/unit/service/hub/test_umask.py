"""R-ATT-4. Clients of a shared daemon with different umasks: each one's new files and folders have its own."""

import os
import stat
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from support.abilities import HAS_ATTRIBUTES
from support.metadata import NONE, acl
from support.shared_daemon import LspClient, SharedDaemon, code_of

UMASKS = [0o077, 0o027, 0o022, 0o002, 0o000]
OF_THE_DAEMON = 0o022


@pytest.fixture(autouse=True)
def umask_of_the_daemon() -> Any:
    before = os.umask(OF_THE_DAEMON)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def by_edit(agent: LspClient, file: Path) -> Any:
    return await agent.call("fileops/edit", {"file_path": str(file), "old_string": "", "new_string": "new\n"})


async def by_write(agent: LspClient, file: Path) -> Any:
    return await agent.call("fileops/write", {"file_path": str(file), "content": "new\n"})


async def by_set(agent: LspClient, file: Path) -> Any:
    changes = [
        {"kind": "create", "file_path": str(path), "content": "new\n"} for path in (file, file.with_name("beside"))
    ]
    return await agent.call("fileops/applyChanges", {"changes": changes})


@pytest.mark.parametrize("umask", UMASKS, ids=oct)
@pytest.mark.parametrize("create", [by_edit, by_write, by_set])
async def test_new_file_and_folder_have_the_umask_of_the_client_that_creates_them(
    daemon: SharedDaemon, tmp_path: Path, umask: int, create: Callable[[LspClient, Path], Coroutine[Any, Any, Any]]
) -> None:
    agent = await daemon.agent(tmp_path, umask=umask)
    file = tmp_path / "folder" / "inner" / "new"
    assert code_of(await create(agent, file)) is None
    assert file.read_text() == "new\n"
    assert [mode_of(file), mode_of(file.parent), mode_of(tmp_path / "folder")] == [
        0o666 & ~umask, 0o777 & ~umask, 0o777 & ~umask,
    ]  # fmt: skip
    (file.parent / "by others").touch()
    assert mode_of(file.parent / "by others") == 0o666 & ~OF_THE_DAEMON


async def test_file_that_exists_keeps_its_mode_and_a_client_without_umask_has_the_daemons(
    daemon: SharedDaemon, file: Path
) -> None:
    file.chmod(0o640)
    private = await daemon.agent(file.parent, umask=0o077)
    await private.read(file)
    assert code_of(await private.edit(file, "one", "ONE")) is None
    assert mode_of(file) == 0o640
    older = await daemon.agent(file.parent)
    assert code_of(await by_edit(older, file.with_name("new"))) is None
    assert mode_of(file.with_name("new")) == 0o666 & ~OF_THE_DAEMON


@pytest.mark.skipif(not HAS_ATTRIBUTES, reason="this system has no ACLs that are attributes")
@pytest.mark.parametrize("umask", [0o077, 0o022, 0o000], ids=oct)
async def test_default_acl_of_a_folder_decides_instead_of_the_umask(
    daemon: SharedDaemon, tmp_path: Path, umask: int
) -> None:
    default = acl((1, 6, NONE), (4, 6, NONE), (32, 0, NONE))  # user::rw-, group::rw-, other::---
    assert sys.platform == "linux"
    os.setxattr(tmp_path, "system.posix_acl_default", default)
    agent = await daemon.agent(tmp_path, umask=umask)
    assert code_of(await by_edit(agent, tmp_path / "new")) is None
    assert mode_of(tmp_path / "new") == 0o660
