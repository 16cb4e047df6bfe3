"""The pure half of Psych, and every port."""
