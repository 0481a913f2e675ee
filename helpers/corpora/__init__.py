"""Text and data of the course: bundled files and the functions that load them.

    sonnets     160 original sonnets, or a text file of your own
    reviews     1,075 original reviews with 1 to 5 stars, as a `datasets.DatasetDict`
    numbers     number words in two languages, made by `num2words`
    language    sentences of a little language, in English, German and French
    vocabulary  from text to ids and back: characters, or frequent longer pieces
    sentences   320 everyday sentences and 20 search queries

README.md beside this file says where each text comes from and what was measured.
"""
