"""`python -m deepvoice`: the same as the command `deepvoice`."""

import sys

from deepvoice.cli import main

if __name__ == "__main__":
    sys.exit(main())
