"""What measures the figures in the docs."""
