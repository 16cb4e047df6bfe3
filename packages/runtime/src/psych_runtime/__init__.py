"""The library to build your own agentic platform on."""
