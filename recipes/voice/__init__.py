"""From trained modules to a voice: `pack` writes the voice folder, `run` does every stage from prompts to voice."""
