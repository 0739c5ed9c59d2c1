"""The segmentation recipe: prepare, train, align, evaluate."""
