"""What people look at: the page of a run, what notebooks show, and `repr()` in a few words.

The page is one file without a network: its style, its script and the run as JSON, which the script shows as text and
never as HTML. Notebooks get HTML without scripts. Either takes secrets out first.
"""
