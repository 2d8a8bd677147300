"""More rows out of fewer: by rule out of any corpus, by an LLM, and what a reviewer says of them.

After CiteCheck (2025), section 2.2: supported statements whose evidence, or which themselves, lose or change
one key segment.
"""
