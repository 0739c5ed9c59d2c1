"""Corpora: from recordings, or from text and a teacher, to audio with phones."""
