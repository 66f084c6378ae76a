"""What a store does, by noun: `store.entities.merge(...)`, `store.documents.list()`."""
