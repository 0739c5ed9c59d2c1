"""The subcommands of `deepvoice`, one module each: `add_arguments(parser)` and `run(arguments) -> exit status`.

Only the standard library is imported at the top of these modules, so that usage and errors come at once.
"""
