"""`deepvoice completion`: completion of commands, options and their values in a shell, from the parsers themselves."""

import argparse
from collections.abc import Iterator, Mapping

_SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=_SHELLS, help="the shell that will read the script")


def run(arguments: argparse.Namespace) -> int:
    """Print the script; returns the exit status."""
    from deepvoice.commands.program import parsers

    parser, subparsers = parsers()
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[arguments.shell]
    print("\n".join(write(parser, subparsers)))
    return 0


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[argparse.Action, str]]:
    """Yield the options of a parser that are not hidden, with their help in one line."""
    for action in parser._actions:
        if action.option_strings and action.help is not argparse.SUPPRESS:
            text = (action.help or "") % {**vars(action), "prog": parser.prog}
            yield action, " ".join(text.split())


def _choices(action: argparse.Action) -> list[str]:
    return [str(choice) for choice in action.choices or ()]


def _bash(parser: argparse.ArgumentParser, subparsers: Mapping[str, argparse.ArgumentParser]) -> Iterator[str]:
    yield '# bash completion of deepvoice; load it with: eval "$(deepvoice completion bash)"'
    yield "_deepvoice() {"
    yield '  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words=""'
    yield "  if ((COMP_CWORD == 1)); then"
    flags = [flag for action, _ in _options(parser) for flag in action.option_strings]
    yield f'    COMPREPLY=($(compgen -W "{" ".join([*subparsers, *flags])}" -- "$word")); return'
    yield "  fi"
    yield '  case "$command $before" in'
    for name, subparser in subparsers.items():
        for action, _ in _options(subparser):
            if choices := _choices(action):
                pattern = "|".join(f'"{name} {flag}"' for flag in action.option_strings)
                yield f'    {pattern}) COMPREPLY=($(compgen -W "{" ".join(choices)}" -- "$word")); return ;;'
    yield "  esac"
    yield '  case "$command" in'
    for name, subparser in subparsers.items():
        words = [flag for action, _ in _options(subparser) for flag in action.option_strings]
        words += [choice for action in subparser._actions if not action.option_strings for choice in _choices(action)]
        yield f'    {name}) words="{" ".join(words)}" ;;'
    yield "  esac"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield '  [[ $word == -* ]] || COMPREPLY+=($(compgen -f -- "$word"))'
    yield "}"
    yield "complete -o filenames -F _deepvoice deepvoice"


def _zsh(parser: argparse.ArgumentParser, subparsers: Mapping[str, argparse.ArgumentParser]) -> Iterator[str]:
    yield "#compdef deepvoice"
    yield "# zsh completion of deepvoice; put it into a folder of $fpath, as _deepvoice"
    summaries = {action.dest: action.help or "" for action in _subcommands(parser)}
    yield "_deepvoice() {"
    yield "  local -a commands=("
    for name in subparsers:
        yield f"    {_quoted(name + ':' + summaries.get(name, ''))}"
    yield "  )"
    yield "  if ((CURRENT == 2)); then _describe command commands; return; fi"
    yield "  local command=$words[2]"
    yield "  shift words; ((CURRENT--))"
    yield '  case "$command" in'
    for name, subparser in subparsers.items():
        yield f"    {name}) _arguments -s \\"
        for action, text in _options(subparser):
            value = "" if action.nargs == 0 else f":value:({' '.join(_choices(action))})"
            value = ":value:_files" if value == ":value:()" else value
            for flag in action.option_strings:
                yield f"      {_quoted(f'{flag}[{_plain(text)}]{value}')} \\"
        values = [choice for action in subparser._actions if not action.option_strings for choice in _choices(action)]
        yield "      " + _quoted(f"*:argument:({' '.join(values)})" if values else "*:file:_files") + " ;;"
    yield "  esac"
    yield "}"
    yield 'if [[ $funcstack[1] == _deepvoice ]]; then _deepvoice "$@"; else compdef _deepvoice deepvoice; fi'


def _fish(parser: argparse.ArgumentParser, subparsers: Mapping[str, argparse.ArgumentParser]) -> Iterator[str]:
    yield "# fish completion of deepvoice; put it into ~/.config/fish/completions/deepvoice.fish"
    summaries = {action.dest: action.help or "" for action in _subcommands(parser)}
    for name in subparsers:
        summary = _escaped(summaries.get(name, ""))
        yield f"complete -c deepvoice -n __fish_use_subcommand -f -a {name} -d '{summary}'"
    for name, subparser in subparsers.items():
        seen = f"complete -c deepvoice -n '__fish_seen_subcommand_from {name}'"
        for action, text in _options(subparser):
            flags = " ".join(
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in action.option_strings
            )
            choices = _choices(action)
            value = "" if action.nargs == 0 else f" -x -a '{' '.join(choices)}'" if choices else " -r"
            yield f"{seen} {flags}{value} -d '{_escaped(text)}'"
        for action in subparser._actions:
            if not action.option_strings and _choices(action):
                yield f"{seen} -f -a '{' '.join(_choices(action))}'"


def _subcommands(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield argparse's own entries for the subcommands: `dest` is the name, `help` the summary."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action._choices_actions


def _plain(text: str) -> str:
    """Leave out what zsh reads as syntax inside a description."""
    return text.translate(str.maketrans("[]:", "();"))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
