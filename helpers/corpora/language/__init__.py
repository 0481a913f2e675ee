"""A little language to translate: English sentences in German or in French."""
