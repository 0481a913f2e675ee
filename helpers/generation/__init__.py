"""From the scores of a model to the text that it writes."""
