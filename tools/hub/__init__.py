"""JupyterHub for a class: see docs/hub.md, and `python -m tools.hub --help`.

config.py    what a hub, nbgrader and JupyterLab are told: `python -m tools.hub config`
collect.py   nbgrader's way to collect, less trusting
feedback.py  the pages of `make grade`, on their way to students through the exchange
client.py    what a person's browser asks of a hub: for the test and the measurement
measure.py   memory and time for each student: `python -m tools.hub measure`
"""

CAME_WITH_IT = ("timestamp.txt", "submission_secret.txt")  # nbgrader's, of a submission
