"""Change sets over unsaved documents of two editors of one shared daemon, on pytest-lsp (R-SET-5)."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from lsprotocol import types

from support.daemon_process import place
from support.editor_client import edited
from support.lsp_client import SUITE, FileOpsClient, serving

pytestmark = SUITE
NAMES = ("a", "b", "c")
BEFORE = {name: f"text of {name}\n" for name in NAMES}
TYPED = ["typed text of a\n", "typed text of b\n"]  # unsaved, in the first editor and in the second one
APPLIES = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        apply_edit=True, workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True)
    )
)
Answer = Callable[[types.ApplyWorkspaceEditParams], Awaitable[types.ApplyWorkspaceEditResult]]


class Editor:
    """An editor with one document. asked: how many requests it was sent; answer: what it does with the next ones."""

    def __init__(self, client: FileOpsClient, path: Path) -> None:
        self.client, self.path, self.text, self.version = client, path, path.read_text(), 1
        self.asked = 0
        self.answer: Answer = self.oblige
        client.answer(types.WORKSPACE_APPLY_EDIT, self._apply)
        item = types.TextDocumentItem(uri=path.as_uri(), language_id="plaintext", version=1, text=self.text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))

    def become(self, text: str) -> None:
        self.text, self.version = text, self.version + 1
        document = types.VersionedTextDocumentIdentifier(uri=self.path.as_uri(), version=self.version)
        changes: list[types.TextDocumentContentChangeEvent] = [
            types.TextDocumentContentChangeWholeDocument(text=text),
        ]
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(text_document=document, content_changes=changes)
        )

    async def _apply(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        self.asked += 1
        return await self.answer(params)

    async def oblige(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        (change,) = params.edit.document_changes or []
        assert isinstance(change, types.TextDocumentEdit)
        assert change.text_document.version == self.version
        edits = [
            {"range": {"start": at(one.range.start), "end": at(one.range.end)}, "newText": one.new_text}
            for one in change.edits
            if isinstance(one, types.TextEdit)
        ]
        self.become(edited(self.text, edits))
        return types.ApplyWorkspaceEditResult(applied=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).write_text(BEFORE[name])
    return tmp_path


@pytest.fixture
async def desk(folder: Path) -> AsyncGenerator[tuple[FileOpsClient, Editor, Editor]]:
    """An agent, and two editors with unsaved text."""
    root = types.WorkspaceFolder(uri=folder.as_uri(), name="p")
    with place() as here:
        async with AsyncExitStack() as stack:
            clients: list[FileOpsClient] = []
            for _ in range(3):
                client = await stack.enter_async_context(serving("--shared", env=here.process_env))
                await client.start_session(capabilities=APPLIES, workspace_folders=[root])
                clients.append(client)
            agent, *others = clients
            first, second = (Editor(client, folder / name) for client, name in zip(others, NAMES, strict=False))
            for editor in (first, second):
                editor.become(f"typed {editor.text}")
                await editor.client.call("tracked")  # what it reported before counts when it is answered
            yield agent, first, second


async def test_set_over_unsaved_documents_of_two_editors_is_made_in_both_or_in_none(
    desk: tuple[FileOpsClient, Editor, Editor], folder: Path
) -> None:
    agent, *editors = desk
    first, second = editors
    changes: list[dict[str, object]] = [
        {"kind": "edit", "file_path": f"{folder}/{name}", "edits": [{"old_string": "text", "new_string": "TEXT"}]}
        for name in NAMES
    ]
    for name in NAMES:
        await agent.call("read", file_path=f"{folder}/{name}")

    async def refuse(_params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        return types.ApplyWorkspaceEditResult(applied=False, failure_reason="a dialog is open")

    # The first one that is asked refuses, then the second one: after that the first one reverts what it has made.
    for refusing in editors:
        refusing.answer = refuse
        result = await agent.call("applyChanges", changes=changes)
        assert (result["error"]["code"], refusing.asked) == ("apply_refused", 1), result
        refusing.answer = refusing.oblige
        assert [editor.text for editor in editors] == TYPED
        assert contents(folder) == BEFORE
    assert sorted(editor.asked for editor in editors) == [1, 3]
    first.asked = second.asked = 0

    # One undo reverts what both have made.
    new = {"kind": "create", "file_path": f"{folder}/made/new", "content": "new\n"}
    result = await agent.call("applyChanges", changes=[*changes, new])
    assert result["error"] is None, result
    assert [file["applied_to"] for file in result["details"]["files"]] == ["buffer", "buffer", "disk", "disk"]
    notes = [line for line in result["output"].splitlines() if line.startswith("Note: ")]
    assert notes == [
        f"Note: {folder}/{name} is open with unsaved changes; the change is in the editor, not on the disk."
        for name in ("a", "b")
    ]
    assert [(editor.text, editor.asked) for editor in editors] == [("typed TEXT of a\n", 1), ("typed TEXT of b\n", 1)]
    assert contents(folder) == {**BEFORE, "c": "TEXT of c\n", "made/new": "new\n"}
    undone = await agent.call("undo", set_id=result["details"]["set_id"])
    assert undone["error"] is None, undone
    assert ([editor.text for editor in editors], contents(folder)) == (TYPED, BEFORE)

    # The process of the editor that is asked second dies before it answers.
    asked: list[Editor] = []

    def dying(editor: Editor) -> Answer:
        async def answer(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            asked.append(editor)
            if len(asked) != 2:
                return await editor.oblige(params)
            process = editor.client._server
            assert process is not None
            process.kill()
            await process.wait()
            return types.ApplyWorkspaceEditResult(applied=False)

        return answer

    for editor in editors:
        editor.answer = dying(editor)
    result = await agent.call("applyChanges", changes=changes)
    assert (result["error"]["code"], len(asked)) == ("apply_refused", 3), result
    stays, gone, _ = asked
    assert (stays, contents(folder)) == (asked[2], BEFORE)
    assert stays.text == f"typed text of {stays.path.name}\n"
    # What the dead editor showed does not count any more: the file does.
    await agent.call("read", file_path=str(gone.path))
    result = await agent.call("applyChanges", changes=changes)
    assert result["error"] is None, result
    assert stays.text == f"typed TEXT of {stays.path.name}\n"
    assert contents(folder) == {**BEFORE, "c": "TEXT of c\n", gone.path.name: f"TEXT of {gone.path.name}\n"}


def at(position: types.Position) -> dict[str, int]:
    return {"line": position.line, "character": position.character}


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}
