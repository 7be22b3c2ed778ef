"""What the schema says about types and fields beyond their names, for authors of clients.

docs/PROTOCOL.md has the rules. A test checks that each type and field is one of the schema's.
"""

_SESSION = "Without it: the session `default` of the connection."
_TEXT = "Null over 1 MB."
_INCLUDED = "With `include_texts`. " + _TEXT
_FULL_NAME = "Its full name, unique in the daemon."

TYPES: dict[str, str] = {
    "Attachment": "An image beside the text of a result, for models with vision.",
    "AskingSession": "A session of another connection to a shared daemon, whose edit is asked about.",
    "BashDetails": "The outcome of a shell command.",
    "CommitDetails": "How a change was written.",
    "ConfirmCommandResult": "`proceed_always` holds for exactly this command, in this folder and session.",
    "ConfirmEditResult": "The user's decision about an edit.",
    "Conflict": "A file that changed since the session read it. `last_*` are as the session read it.",
    "Correction": "What a client's model proposes in place of a text that was not found.",
    "EditDetails": "Of an edit, a multi-edit or a write. Which keys are there depends on its outcome.",
    "ErrorCode": "Why a tool failed.",
    "FileopsCapabilities": "What this server serves: `capabilities.experimental.fileops`.",
    "GivenResult": "The part of a ToolResult that is drawn.",
    "Hunk": "As in a unified diff: a side of zero lines starts at the line before it.",
    "Latency": "Milliseconds, without the time that the user or the client's model took to answer.",
    "LineRange": "1-based, both ends included.",
    "Nearest": "The place that a text that was not found most likely meant. A hint, never applied.",
    "Notice": "What others changed in a file that the session has read.",
    "RebasedDetails": "What others had changed in a file when an edit was applied to it nevertheless.",
    "RebasedEntry": "Over how many changes of others an edit was applied.",
    "RelevanceDetails": "Why a change of others does not let an edit through.",
    "Session": "A session of a shared daemon, of this connection or of another one.",
    "SharedCapability": "This client's connection to a shared daemon.",
    "StepDetails": "The outcome of one step of a multi-edit.",
    "ToolResult": "What every tool answers, whether it succeeded or failed.",
    "UndoParams": "One edit by `edit_id`, or all of a session, the newest first; with `file_path` those of that file.",
    "UndoneFile": "What an undo did to one file.",
}
FIELDS: dict[str, dict[str, str]] = {
    "AskingSession": {
        "session_id": _FULL_NAME,
        "host": "The program, such as `codex`.",
        "label": "For people.",
    },
    "Attachment": {"data": "Base64.", "width": "Pixels.", "height": "Pixels."},
    "BashDetails": {"exit_code": "128 + number after a signal. Null if the command did not run to its end."},
    "BashParams": {
        "timeout_s": "120 by default.",
        "cwd": "Absolute. By default the first workspace folder.",
        "description": "What it is for. The user who is asked reads it.",
        "session_id": _SESSION,
    },
    "CommitDetails": {"reason": "Why less is promised than usual."},
    "ConfirmCommandParams": {"description": "As the agent gave it."},
    "ConfirmEditParams": {
        "original_text": _TEXT,
        "proposed_text": _TEXT,
        "original_label": "What to call the side of `original_text`.",
        "proposed_label": "What to call the side of `proposed_text`.",
        "rebased": "What others changed since the agent read the file, if the edit is applied to their text.",
        "session": "Whose edit it is, if it is of another client of a shared daemon.",
    },
    "ConfirmEditResult": {
        "text": "With `modify`: what the user wants written instead.",
        "hunk_ids": "Only these hunks are accepted.",
    },
    "Conflict": {
        "current_modified": "Null if the file is gone.",
        "size_diff": "Bytes. Null if the file is gone.",
    },
    "CorrectEditParams": {"edit_index": "0-based, of a multi-edit's step."},
    "Correction": {"old_string": "Must occur in the file exactly."},
    "DescribeParams": {"arguments": "As far as they have arrived."},
    "DidBecomeStaleParams": {"source": "`external`, `buffer` or `session:ID`."},
    "DidEditParams": {"content_length": "Characters of the new content."},
    "EditDetails": {
        "edit_index": "0-based, of the step that failed.",
        "edit_id": "Null if nothing was written.",
        "edits": "Of a multi-edit: the outcome of each step.",
        "corrected": "What was matched and written in place of what was given.",
        "original_text": _INCLUDED,
        "proposed_text": _INCLUDED,
        "changed_by": "`external`, `buffer` or a session.",
        "diff_since_read": "Null if the content that was read is not known any more.",
        "rebased": "Of an edit that was applied though others had changed the file, with `freshness` `relevant`.",
        "relevance": "Of an edit that was refused, with `freshness` `relevant`.",
        "notices": "With the option `notices`.",
    },
    "EditParams": {
        "file_path": "Absolute.",
        "strategy": "How the text is found: `exact`, or a name of `strategies` in the capability block.",
        "dry_run": "Check and preview, and write nothing.",
        "include_texts": "`details` has the whole text before and after.",
        "session_id": _SESSION,
    },
    "HistoryEntry": {
        "timestamp": "Seconds since the epoch.",
        "undone_by": "The edit that undid this one.",
        "undoes": "The edits that this one undid.",
    },
    "HunkLine": {"text": "Without its line feed, with its carriage return."},
    "InitializationOptions": {"agents_approval": "In a shared daemon: for agents' sessions in files of this editor."},
    "MultiEditParams": {
        "file_path": "Absolute.",
        "include_texts": "`details` has the whole text before and after.",
        "session_id": _SESSION,
    },
    "ReadDetails": {
        "text": "With `raw`.",
        "total_lines": "Null if the end of the file was not reached.",
        "next_offset": "Null at the end of the file.",
        "document_version": "Of the document in the editor.",
    },
    "ReadParams": {
        "file_path": "Absolute.",
        "offset": "1-based line.",
        "raw": "The text as it is in the file, in `details.text`, for programs.",
        "session_id": _SESSION,
    },
    "RenderResult": {"summary": "A line about the result as a whole, or empty."},
    "Session": {"session_id": _FULL_NAME, "label": "For people.", "last_seen": "Seconds since the epoch."},
    "StepDetails": {"index": "0-based."},
    "ToolDefinition": {"icon": "`file`, `pencil` or `terminal`."},
    "ToolError": {"message": "One sentence for people."},
    "ToolResult": {
        "output": "Exactly the text for the model.",
        "attachments": "Absent if there are none.",
    },
    "ToolsParams": {
        "enabled": "Names of tools. The guidelines leave out the others, too.",
        "other_tools": "Names of the client's own tools, which `guidelines` may then mention.",
    },
    "ToolsResult": {"guidelines": "Lines for the system prompt that belong to no single tool."},
    "UiExtra": {"first_changed_line": "In the new text."},
    "UndoDetails": {
        "undone": "The edits that were undone. None if the user changed the proposal.",
        "edit_id": "Of the undo itself, which can be undone, too. Null for several files, and if nothing was written.",
        "ranges": "Of an `undo_conflict`: what the undo would have to overwrite.",
        "file_path": "Of a failure: the file that failed. `undone` and `files` are what remains undone.",
    },
    "UndoParams": {"approved": "The user asked for it or has confirmed it: no further question is asked."},
    "WriteParams": {
        "file_path": "Absolute.",
        "content": "The whole text.",
        "include_texts": "`details` has the whole text before and after.",
        "session_id": _SESSION,
    },
}
