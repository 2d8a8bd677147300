"""Chinese claims made by rule."""
