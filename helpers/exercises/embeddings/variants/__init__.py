"""Other right answers to the exercises of lesson 01."""
