"""Wrong claims in much other text, and irrelevant passages beside the evidence."""
