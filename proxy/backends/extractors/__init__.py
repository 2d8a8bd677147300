"""Extractors: sentences to what is checked one by one."""
