"""Each table and figure of the papers, one command each."""
