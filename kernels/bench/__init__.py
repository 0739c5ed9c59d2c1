"""Speed of the kernels: `python -m deepvoice.kernels.bench`, and what `deepvoice bench` is made of."""
