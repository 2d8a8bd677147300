"""What several rooms need to know about text: language, words, sentences, Markdown."""
