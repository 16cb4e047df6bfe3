"""What is wrong with a Spec where it is published: all of it, at once."""
