"""A student's own work: their answers as parts, their scores, their installation."""
