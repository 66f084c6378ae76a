"""The lowest floor: storage, journal, text, settings, embedding. It knows nothing of memories."""
