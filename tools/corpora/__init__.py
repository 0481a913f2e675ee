"""Check the bundled texts."""
