"""Pure decisions: no I/O, no models."""
