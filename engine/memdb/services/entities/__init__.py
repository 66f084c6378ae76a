"""What texts mention: entities, names, the vocabulary, and how people correct them."""
