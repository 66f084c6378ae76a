"""Runs with a language model: what is asked, answered and paid."""
