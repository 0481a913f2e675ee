"""Grade submissions: each on its own, none able to harm the others or this machine.

course.py   nbgrader's course: source/, release/, gradebook
archive.py  the zip of all submissions, unpacked safely
names.py    what a platform's names of files and folders say
find.py     which file is whose, and of which lesson
roster.py   the list of the class
sandbox.py  what a process may see, use and reach
worker.py   the process that grades one submission with nbgrader
restore.py  a submission as it must be executed: checks as they were released
execute.py  nbgrader's Execute with a kernel in the sandbox
kernel.py   the kernel: reports what each check found
runner.py   one worker for each submission, and what of its word is believed
cluster.py  grading on other machines, by Dask distributed
far.py      what a worker of Dask does there
safe.py     what of an executed notebook may be looked at
guard.py    cleans up behind a grader that was killed
gradebook.py  nbgrader's gradebook: points of checks, and those that a person gave
tables.py   grades.csv and misconceptions.csv
outline.py  a lesson as pages for people need it
feedback.py the page that a student gets
overview.py the class at a glance
reading.py  written answers, read one after another
platforms.py  grades as Moodle and Canvas import them
kit.py      what a class gets beside the tables
"""
