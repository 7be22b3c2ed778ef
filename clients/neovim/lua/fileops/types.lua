---@meta _
-- Types of the plugin, for authors' language servers; nothing loads this file. The types of the wire are in
-- `client/wire_types.lua`.

-- init

---@class (exact) fileops.RequestError a request that could not be taken; a tool's failure is a result
---@field code integer JSON-RPC
---@field message string
---@field data? table

---@class (exact) fileops.Handle
---@field cancel fun() take the request back; the callback still hears how it ended

---@alias fileops.Callback fun(err: fileops.RequestError?, result: any)

---@class (exact) fileops.Session what one agent has seen; nothing of it is shared with others
---@field id string

-- config

---@class (exact) fileops.Config
---@field cmd string[]|false the daemon's command; false: `fileops-server` on PATH, then `python3 -P -m fileops`
---@field root string|false the workspace folder; false: the folder of `.git` above the working directory, else that
---@field autostart 'project'|boolean start with the first file of a project, with Neovim, or at first use
---@field shared boolean attach to the user's shared daemon, in which agents outside see this editor's unsaved text
---@field server fileops.wire.InitializationOptions options of the daemon, which checks them
---@field max_mb number a larger buffer is not reported to the daemon: agents then see the file instead
---@field marks boolean mark what agents changed and no person has kept
---@field sign string in the sign column; "" for none
---@field notice boolean a notice of the terminal when a review waits and Neovim has no focus
---@field unsaved 'keep'|'save' save a buffer before an agent's own tool reads or edits its file
---@field keys table<string, string|false> in the text, by what they do; false takes one away

-- client/process, client/locate

---@class (exact) fileops.State
---@field status 'stopped'|'starting'|'running'|'failed'
---@field problem? string why it failed
---@field client_id? integer
---@field cmd? string[]
---@field from? string where the command was found
---@field root? string the folder that it was started for
---@field server? { name: string, version: string }
---@field capabilities? table experimental.fileops of the daemon
---@field health? fileops.wire.WatcherHealthParams
---@field shared? fileops.wire.SharedCapability nil for a daemon of this editor alone
---@field private_reason? string why the shared daemon is not used although it is wanted
---@field restarts number[] when it was restarted, seconds
---@field stopping boolean

---@class (exact) fileops.Place
---@field from string
---@field cmd string[]
---@field usable boolean

-- watch

---@class (exact) fileops.Watch of one folder
---@field handle uv.uv_fs_event_t
---@field names table<string, integer> name in the folder → buffer

-- client/exact_text

---@class (exact) fileops.OpenText the text of a buffer as the daemon has it
---@field client vim.lsp.Client
---@field uri string
---@field buf integer
---@field lines string[]
---@field is_whole boolean whether each change is reported as the whole text
---@field is_ended boolean 'endofline'

-- client/rpc

---@class (exact) fileops.rpc.Options
---@field cwd? string
---@field env? table<string, string>
---@field on_stderr? fun(text: string)
---@field on_refused? fun(refusal: string) `initialize` failed; the process is ended
---@field on_send? fun(message: table) before it is sent, or held back for `together`

---@class fileops.rpc.Connection: vim.lsp.rpc.PublicClient
---@field pid fun(): integer
---@field stopped_by_us fun(): boolean whether its end was asked for
---@field ended fun(): { code: integer, signal: integer }? how the process ended
---@field together fun(act: fun()) what `act` sends leaves at its end, changes of one document as one notification

-- review/queue

---@class (exact) fileops.Review
---@field id integer ours, counted from 1
---@field kind 'edit'|'command'
---@field session_id string
---@field params fileops.wire.Review|fileops.wire.ConfirmCommandParams
---@field change_ids string[] what can be decided alone
---@field rejected table<string, boolean> change id → true
---@field accepted table<string, boolean> change id → true, decided one by one
---@field reasons? table<string, string> change id → why it is rejected, for the model
---@field settle fun(decision: fileops.Decision)
---@field client_id? integer of a question that waits for an answer, as the next two
---@field request_id? integer|string the daemon's; nil under a transport that hides it
---@field answer? fun(value: fileops.wire.ConfirmEditResult?, problem: table?)
---@field review_id? string of the daemon's list, as all that follows; a file of a change set has its own
---@field set? fileops.ReviewSet the change set that it is part of
---@field is_deciding? boolean a decision is on its way
---@field is_lost? boolean its daemon is out of reach
---@field decided? fileops.Decision the last one that was handed in from here
---@field typed? string the text that the person had decided on, of which the proposal may lack some
---@field text_offered? boolean they have been shown it
---@field note? string why it has to be decided again

---@class (exact) fileops.ReviewSet
---@field params fileops.wire.Review
---@field decided table<string, fileops.Decision> by file; handed in when there is one for each
---@field is_sent? boolean

---@class (exact) fileops.Decision
---@field outcome 'accept'|'accept_always'|'modify'|'reject'
---@field change_ids? string[] only these are accepted
---@field files? fileops.wire.DecidedFile[] of a change set, in place of the texts and changes of one file
---@field text? string with "modify": what is to be written instead
---@field reason? string of a rejection, for the model
---@field revision? integer of the review that it is about; nil: the one that is shown

---@class (exact) fileops.Asked which request of the daemon's it is
---@field client_id integer
---@field request_id? integer|string

---@class (exact) fileops.Accepted an edit that the person accepted, whose outcome is still to come
---@field is_refused boolean the user was notified that nothing was written

-- review/text

---@class (exact) fileops.TextReview a review that is shown in a buffer
---@field buf integer
---@field review fileops.Review
---@field revision integer
---@field changes fileops.TextChange[] as in the review
---@field since_ms integer when it appeared, by `uv.now()`

---@class (exact) fileops.TextChange
---@field id string
---@field range integer the extmark that moves with its lines
---@field ids integer[] all its extmarks
---@field is_addition boolean no line of the buffer is its own

-- unkept/marks

---@class (exact) fileops.UnkeptMark
---@field change fileops.wire.UnkeptChange
---@field ids integer[] extmarks, of its lines
---@field is_at_end boolean it removed lines below the last one

---@class (exact) fileops.UnkeptTarget what is to be kept or undone
---@field ids string[] of changes
---@field n_changes integer as lists count them: a rename is one
---@field n_files integer
---@field agents string[] labels

-- review/proposal

---@class (exact) fileops.Editable
---@field lines string[]
---@field final_newline boolean

---@class (exact) fileops.ProposalEditor
---@field proposed integer buffer
---@field original? integer buffer beside it
---@field tab? integer tab page that was opened for it
---@field finish? fun() of `whole_hunks`
---@field filled string|false what the proposed one had before the person typed; false: their own text
---@field revision? integer of the review that is shown

-- corrections

---@alias fileops.Proposal fun(proposal: fileops.wire.Correction?)
---@alias fileops.Corrector fun(question: fileops.wire.CorrectEditParams, answer: fileops.Proposal): fun()?

---@class (exact) fileops.OpenQuestion
---@field from fileops.Asked
---@field answer fun(value: any, problem: table?)
---@field stop? fun() notifies the corrector when no caller waits for it any more

-- ui/hunks

---@class (exact) fileops.Row
---@field kind 'same'|'change'|'delete'|'add'
---@field old? string
---@field new? string
---@field old_line? integer 1-based
---@field new_line? integer 1-based
---@field old_unended? boolean the old line is the last one, and no newline follows it
---@field new_unended? boolean

-- reload

---@class (exact) fileops.BufferText
---@field lines string[]
---@field final_newline boolean

-- commands

---@class (exact) fileops.Subcommand
---@field run fun(args: string, range?: { first: integer, last: integer })
---@field desc string
---@field complete? 'file'|fun(): string[]
