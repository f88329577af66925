"""What is known about words, in any language: for every app."""
