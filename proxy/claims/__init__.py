"""Claims of a draft: found, told apart from what nobody could check, taken apart."""
