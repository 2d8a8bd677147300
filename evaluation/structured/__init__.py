"""Replies with headings, lists and tables, written by hand, over two documents about like things."""
