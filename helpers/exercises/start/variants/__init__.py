"""Independent solutions to the exercises of lesson 00."""
