"""One module per table: `NAME`, `HELP`, `add_arguments`, `run`."""
