"""The workbench in the browser: what its pages stand on, and the pages.

Everything but `shoal.web.pages` and `shoal.web.app` is free of the web: files are opened and releases made
in child processes (`jobs`, `job_process`) that keep all they write in one private folder (`workspace`).
"""
