"""Beginnings of sentences in the language that the bundled GPT-2 has read: manuals."""

PROMPTS = (
    "If the file does not exist,",
    "The first argument is",
    "Return a list of",
    "This method is called when",
    "This class is used to",
    "The name of the",
    "Raises an error if",
    "When the model is trained,",
    "In this example,",
    "The default value is",
    "If the value is None,",
    "Note that this function",
    "The output of the",
    "A string that",
    "Use this option to",
    "The number of",
    "Convert a list of strings",
    "This is a wrapper around",
    "If an exception is raised,",
    "Create a new instance of the",
)
