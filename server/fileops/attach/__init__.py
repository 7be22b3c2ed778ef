"""What runs at a client's side of the shared daemon. Standard library only: it answers before a person notices."""
