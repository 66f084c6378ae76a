-- Only the cleaning after a deletion asked for passages by their text, and it asks for all of them at once.
drop index passage_text;
