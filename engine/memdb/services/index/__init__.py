"""What is derived of texts: windows, words, vectors, clusters, and the digest over it all."""
