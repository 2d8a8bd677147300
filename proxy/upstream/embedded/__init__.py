"""The upstream that needs no key: it answers from the index itself."""
