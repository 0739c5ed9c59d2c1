"""Other programs that speak with deepvoice."""
