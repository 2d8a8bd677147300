"""Citation markers: read, set, removed again; and the check of citations that are there already."""
