"""What the commands and the full screen know alike about the daemon: their name, its failures, and exit statuses.

A separate module, because the full screen is loaded only where Textual is installed.
"""

from fileops_client import AttachRefused, ConnectionLost, RequestTimeout, ResponseError, ServerMissing

DONE, FAILED, MISUSED = 0, 1, 2  # exit statuses
HOST = "terminal"  # who decided, as people read it
DECIDE_S = 60.0  # until the edits have been written
FOLDER_IS_GONE = "The current folder was removed. Change to another one."
# What keeps a program from the daemon.
UNREACHABLE = (ServerMissing, AttachRefused, ConnectionLost, RequestTimeout, ResponseError)
