"""Measures the speed and cost figures in the docs."""
