"""The wire of OpenAI's chat completions."""
