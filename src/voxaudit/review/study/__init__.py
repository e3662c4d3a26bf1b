"""Listening studies: people rate disturbed speech, or tell made speech from real, in their browser."""
