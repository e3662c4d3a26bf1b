"""Text to speech, and the corpora made or fetched for the demo."""
