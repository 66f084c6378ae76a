"""Documents that were added: their places, chunks and snapshots."""
