"""The LSP side: pygls and lsprotocol stop here."""
