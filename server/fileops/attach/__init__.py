"""Small commands that hosts start often. Standard library only: they answer before a person notices."""
