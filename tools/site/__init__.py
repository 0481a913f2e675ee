"""The course as web pages, from the executed solutions: `make site`.

- lessons.py: a lesson's two notebooks as one page of Markdown
- pages.py: all pages, and where their links lead
- conf.py, static/: how Sphinx draws them

Sphinx reads this Markdown by MyST. Formulas are drawn as SVG when the site is built, so
that a page asks for nothing outside its own folder.
"""
