"""What the store is about: memory files, links, clusters, the base graph."""
