"""One verb each: sync, rebuild, save, recall, cascade, forget, inspect."""
