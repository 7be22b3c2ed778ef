"""Names and numbers of LSP that are needed without loading lsprotocol, and names of the server's own requests.

tests/unit/lsp/test_methods.py compares LSP's with lsprotocol's.
"""

INITIALIZE = "initialize"
INITIALIZED = "initialized"
SHUTDOWN = "shutdown"
EXIT = "exit"
CANCEL_REQUEST = "$/cancelRequest"
SET_TRACE = "$/setTrace"
PROGRESS = "$/progress"
WINDOW_SHOW_MESSAGE = "window/showMessage"
WINDOW_SHOW_MESSAGE_REQUEST = "window/showMessageRequest"
WINDOW_WORK_DONE_PROGRESS_CANCEL = "window/workDoneProgress/cancel"
WINDOW_WORK_DONE_PROGRESS_CREATE = "window/workDoneProgress/create"
WORKSPACE_APPLY_EDIT = "workspace/applyEdit"
WORKSPACE_CODE_LENS_REFRESH = "workspace/codeLens/refresh"
WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS = "workspace/didChangeWorkspaceFolders"
WORKSPACE_EXECUTE_COMMAND = "workspace/executeCommand"
TEXT_DOCUMENT_DID_OPEN = "textDocument/didOpen"
TEXT_DOCUMENT_DID_CHANGE = "textDocument/didChange"
TEXT_DOCUMENT_DID_SAVE = "textDocument/didSave"
TEXT_DOCUMENT_DID_CLOSE = "textDocument/didClose"
TEXT_DOCUMENT_CODE_ACTION = "textDocument/codeAction"
TEXT_DOCUMENT_CODE_LENS = "textDocument/codeLens"
CONFIRM_CHANGES = "fileops/confirmChanges"
CONFIRM_EDIT = "fileops/confirmEdit"  # requests of the server, as the two below
CONFIRM_COMMAND = "fileops/confirmCommand"
CORRECT_EDIT = "fileops/correctEdit"

# Notifications that are handled without pygls. If one were lost, the server's state would differ from the client's, so
# they must not depend on a module that may fail to load.
OWN_NOTIFICATIONS = frozenset({
    WINDOW_WORK_DONE_PROGRESS_CANCEL, WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, TEXT_DOCUMENT_DID_OPEN,
    TEXT_DOCUMENT_DID_CHANGE, TEXT_DOCUMENT_DID_SAVE, TEXT_DOCUMENT_DID_CLOSE,
})  # fmt: skip

DOCUMENT_NOTIFICATIONS = (
    TEXT_DOCUMENT_DID_OPEN, TEXT_DOCUMENT_DID_CHANGE, TEXT_DOCUMENT_DID_SAVE, TEXT_DOCUMENT_DID_CLOSE,
)  # fmt: skip

ERROR, WARNING, INFO = 1, 2, 3  # MessageType
INCREMENTAL = 2  # TextDocumentSyncKind
