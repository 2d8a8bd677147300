"""More rows from fewer: altered by an LLM, then reviewed by a person.

After CiteCheck (2025), section 2.2: supported statements whose evidence loses or changes one key segment.
"""
