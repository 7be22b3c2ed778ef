"""The client's side of the shared daemon. Imports only the standard library, so that it starts fast."""
