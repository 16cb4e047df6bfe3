"""Answers to what a Run waits for."""
