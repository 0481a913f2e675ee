"""What maintainers and instructors run: `python -m tools.<name>`."""
