"""Claims made by rule from passages of a corpus, English and Chinese, and how a checker judges them."""
