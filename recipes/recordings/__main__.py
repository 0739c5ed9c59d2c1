"""`deepvoice prepare` as a recipe's command: python -m deepvoice.recipes.recordings DIR -o CORPUS."""

import sys

from deepvoice.commands.program import run

if __name__ == "__main__":
    raise SystemExit(run(["prepare", *sys.argv[1:]]))
