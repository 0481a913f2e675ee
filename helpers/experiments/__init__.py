"""What the lessons measure: one file for each experiment, named after what it does."""
