"""The index follows the files, once or for as long as someone watches."""
