"""Slides for the classroom: one self-contained HTML deck per lesson.

    python -m tools.slides          all lessons
    python -m tools.slides 02       one

A deck is read from the two notebooks of a lesson: explanations, figures and outputs
from the executed solution, the code to be written live from the student's notebook.
Checks, solutions, model answers and hints stay out. `cells` decides what stands on
which slide, `html` draws it, `page` puts reveal.js, fonts and everything else into one
file; `deck.js` cuts in the browser what is too long for one slide.
"""
