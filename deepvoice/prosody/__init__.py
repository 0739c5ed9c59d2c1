"""What is done to the predicted durations and F0: rate, pitch, volume, emphasis and pauses of parts, question rises."""
