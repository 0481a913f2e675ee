from tools.lesson_cells import lesson, run_cell, solutions, stubs, typed  # noqa: F401
