"""English claims made by rule."""
