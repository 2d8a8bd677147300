"""The OpenAI wire format and nothing else."""
