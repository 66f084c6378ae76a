"""Make a text gone, everywhere in the store."""
