"""What every recipe shares: features, data, the trainer, checkpoints and progress."""
