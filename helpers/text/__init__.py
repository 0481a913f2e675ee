"""Text as a model reads it: characters, pieces of words, vectors, hidden words."""
