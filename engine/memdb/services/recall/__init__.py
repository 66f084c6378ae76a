"""Answer a question: arms, fusion, cascade, the block for a prompt, and how well it all does."""
