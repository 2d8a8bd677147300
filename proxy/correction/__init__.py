"""Re-prompts for what failed, and their answers put into the draft."""
