"""The page at `/`, in a real browser."""
