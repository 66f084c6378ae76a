"""Is the index what files and journal say? Check, compare, rebuild, repair."""
