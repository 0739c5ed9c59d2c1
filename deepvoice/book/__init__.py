"""Books: from a file to chapters of plain text, and from chapters to audio with titles and times."""
