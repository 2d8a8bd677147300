"""The method: draft, check, re-prompt, best; whole, and while a reply is still being written."""
