"""What memdb does, one room for each noun and in it one module for each verb; `context` is what they all work on."""
