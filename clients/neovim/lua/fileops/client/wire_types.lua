---@meta _
-- Messages of the wire, for the language server of an author; nothing loads this file. `client/protocol.lua` has their
-- fields as values, and the tests hold those against the server's own types.

---@class (exact) fileops.HunkLine
---@field kind ' '|'-'|'+'
---@field text string without its newline
---@field no_newline? boolean

---@class (exact) fileops.Hunk
---@field id string
---@field old_start integer
---@field old_lines integer
---@field new_start integer
---@field new_lines integer
---@field lines fileops.HunkLine[]

---@class (exact) fileops.Stats
---@field added integer
---@field removed integer

---@class (exact) fileops.UiExtra
---@field diff string
---@field exact boolean
---@field truncated boolean
---@field operation 'create'|'modify'|string
---@field file_path string
---@field hunks fileops.Hunk[]
---@field stats fileops.Stats
---@field first_changed_line integer

---@class (exact) fileops.ToolError
---@field code string
---@field message string

---@class (exact) fileops.Attachment
---@field type 'image'
---@field mime_type string
---@field data string base64
---@field width integer pixels
---@field height integer

---@class (exact) fileops.ToolResult
---@field status 'success'|'error'
---@field output string the text for the model
---@field error? fileops.ToolError
---@field ui_extra? fileops.UiExtra
---@field details table<string, any>
---@field attachments? fileops.Attachment[]

---@class (exact) fileops.ReadParams
---@field file_path string absolute
---@field offset? integer 1-based line
---@field limit? integer
---@field raw? boolean the text as it is, in `details.text`
---@field session_id? string

---@class (exact) fileops.EditParams
---@field file_path string
---@field old_string string
---@field new_string string
---@field replace_all? boolean
---@field expected_replacements? integer
---@field strategy? string how the text is found; "exact" without it
---@field dry_run? boolean
---@field include_texts? boolean the details have the whole text before and after
---@field session_id? string

---@class (exact) fileops.EditStep
---@field old_string string
---@field new_string string
---@field replace_all? boolean
---@field strategy? string

---@class (exact) fileops.MultiEditParams
---@field file_path string
---@field edits fileops.EditStep[]
---@field dry_run? boolean
---@field include_texts? boolean the details have the whole text before and after
---@field session_id? string

---@class (exact) fileops.WriteParams
---@field file_path string
---@field content string the whole text
---@field dry_run? boolean
---@field include_texts? boolean the details have the whole text before and after
---@field session_id? string

---@class (exact) fileops.ToolDefinition
---@field name string
---@field method string
---@field label string
---@field description string
---@field input_schema table
---@field prompt_snippet string
---@field prompt_guidelines string[]
---@field icon string

---@class (exact) fileops.TrackedFile
---@field file_path string
---@field state 'fresh'|'stale'
---@field reason? string
---@field read_at number
---@field mtime? number
---@field size_bytes? integer

---@class (exact) fileops.ConfirmEditParams
---@field title string
---@field description string
---@field file_path string
---@field session_id string
---@field operation string
---@field diff string
---@field hunks fileops.Hunk[]
---@field original_text? string
---@field proposed_text? string
---@field original_label string what to call the side of `original_text`
---@field proposed_label string
---@field rebased? fileops.Rebased
---@field session? fileops.AskingSession of an agent outside of this Neovim

---@class (exact) fileops.ConfirmEditAnswer
---@field outcome 'proceed_once'|'proceed_always'|'cancel'|'modify'
---@field text? string
---@field hunk_ids? string[]

---@class (exact) fileops.BashParams
---@field command string
---@field timeout_s? number
---@field cwd? string absolute; without it the workspace folder
---@field description? string what it is for, told to the person who is asked
---@field session_id? string

---@class (exact) fileops.ConfirmCommandParams
---@field command string
---@field cwd string
---@field session_id string
---@field description? string as the agent gave it

---@class (exact) fileops.CorrectEditParams
---@field file_path string
---@field session_id string
---@field edit_index integer 0-based step of a multi edit
---@field old_string string which does not stand in the file
---@field new_string string
---@field reason string
---@field nearest? table the most similar place, as in the details of a failed edit

---@class (exact) fileops.Correction
---@field old_string string must stand in the file exactly
---@field new_string string

---@class (exact) fileops.DidBecomeStale
---@field file_path string
---@field session_id string
---@field reason 'modified'|'deleted'|'replaced'
---@field source string "external", "buffer" or "session:ID"
---@field timestamp number

---@class (exact) fileops.DidRead
---@field file_path string
---@field session_id string
---@field timestamp number
---@field size integer
---@field modified number

---@class (exact) fileops.DidEdit
---@field file_path string
---@field session_id string
---@field timestamp number
---@field content_length integer
---@field source string
---@field edit_id string

---@class (exact) fileops.DidConflict
---@field file_path string
---@field session_id string
---@field last_read number
---@field last_modified number
---@field current_modified? number
---@field size_diff integer

---@class (exact) fileops.ApprovalMode
---@field session_id string
---@field mode 'default'|'auto_edit'|'yolo'

---@class (exact) fileops.HistoryEntry an applied edit
---@field edit_id string
---@field file_path string
---@field session_id string
---@field timestamp number
---@field operation 'create'|'modify'|'delete'
---@field summary string
---@field diff string
---@field stats fileops.Stats
---@field undoable boolean
---@field undone_by? string
---@field undoes string[]
---@field rebased? fileops.Rebased

---@class (exact) fileops.WatcherHealth
---@field state 'ok'|'degraded'
---@field reason string

---@class (exact) fileops.Shared of the answer to `initialize`: the connection to a shared daemon
---@field connection string such as "neovim-1"
---@field role 'editor'|'agent'
---@field version string of the daemon
---@field socket string

---@class (exact) fileops.AskingSession
---@field session_id string
---@field host string
---@field label string for a person

---@class (exact) fileops.SessionInfo
---@field session_id string
---@field host string the program that it belongs to
---@field label string for a person
---@field connected boolean
---@field approval_mode 'default'|'auto_edit'|'yolo'
---@field n_reads integer
---@field n_edits integer
---@field last_seen number

---@class (exact) fileops.Rebased what others changed in a file since the session of an edit had seen it
---@field changed_by string "external", "buffer" or a session's id
---@field n_foreign_hunks integer
---@field ranges? { start_line: integer, end_line: integer }[] not in the history
---@field diff? string
