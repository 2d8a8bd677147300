"""HaluEval QA with an LLM that picks one of two answers (CEG Table 3)."""
