"""The LSP side: only this package knows pygls and lsprotocol."""
