"""Own recordings -> a checked corpus: `layouts` finds them, `examine` checks one, `prepare` does a folder, `report`."""
