"""HaluEval QA without an LLM (Li et al. 2023)."""
