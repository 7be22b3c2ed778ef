"""Which problems an edit introduced and which it resolved."""
