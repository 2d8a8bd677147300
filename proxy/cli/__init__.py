"""One module per command of the command line, imported only when its command runs."""
