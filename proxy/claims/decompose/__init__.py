"""Sentences to the parts that are checked one by one: clauses, or triplets."""
