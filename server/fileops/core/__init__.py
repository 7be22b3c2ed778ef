"""Pure functions over frozen values, without asyncio, clock or disk."""
