"""Strict conversion between frozen dataclasses and plain dicts, for voice.json and for TOML files.

Unknown keys, missing keys and values of another type raise `ConfigError`, which names the key and what was
expected. Limits on values belong to the dataclasses themselves, in `__post_init__`, through `require_range`.
"""

import dataclasses
import math
import tomllib
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, Union

from deepvoice.errors import ConfigError

T = TypeVar("T")


def require_range(name: str, value: float, low: float, high: float) -> None:
    """Raise ConfigError unless low <= value <= high (NaN fails)."""
    if not low <= value <= high:
        raise ConfigError(f"{name} is {value!r}; expected a value from {low} to {high}")


def from_dict(cls: type[T], data: object, where: str = "") -> T:
    """Build a dataclass from a plain dict, checking every key and type.

    cls: a dataclass; its fields may be bool, int, float, str, tuples of these, optional values, string-keyed
        mappings of these, `Any` (kept as it is) and further dataclasses
    data: what JSON or TOML gave
    where: dotted path of `data` in its file, for messages
    """
    label = where or cls.__name__
    if not isinstance(data, Mapping):
        raise ConfigError(f"{label} is {_short(data)}; expected a table of settings")
    fields = {field.name: field for field in dataclasses.fields(typing.cast(Any, cls)) if field.init}
    unknown = [key for key in data if key not in fields]
    if unknown:
        raise ConfigError(f"{label} has no setting {unknown[0]!r}; valid ones: {', '.join(sorted(fields))}")
    hints = typing.get_type_hints(cls)
    values = {}
    for name, field in fields.items():
        if name in data:
            values[name] = _convert(hints[name], data[name], f"{where}.{name}" if where else name)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ConfigError(f"{label} lacks the setting {name!r}; it needs: {', '.join(sorted(fields))}")
    try:
        return cls(**values)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}" if where else str(error)) from None


def to_dict(config: object) -> dict[str, Any]:
    """Return a dataclass as plain dicts, lists, numbers and strings (the inverse of `from_dict`)."""
    plain = _plain(config)
    if not isinstance(plain, dict):
        raise ConfigError(f"{config!r} is not a configuration")
    return plain


def load_toml(cls: type[T], path: Path | str) -> T:
    """Read a TOML file into a dataclass; raises ConfigError naming the file."""
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}; check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not a TOML file: {error}") from None
    try:
        return from_dict(cls, data)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _convert(hint: Any, value: Any, where: str) -> Any:
    """Check a value against a type hint and return it in the type that the dataclass holds."""
    origin = typing.get_origin(hint)
    if hint is Any:
        return value
    if dataclasses.is_dataclass(hint):
        return from_dict(typing.cast(type, hint), value, where)
    if origin in (Union, types.UnionType):
        return _convert_optional(hint, value, where)
    if origin is typing.Literal:
        if value not in typing.get_args(hint):
            raise ConfigError(
                f"{where} is {_short(value)}; expected one of {', '.join(map(str, typing.get_args(hint)))}"
            )
        return value
    if origin is tuple:
        return _convert_tuple(hint, value, where)
    if origin is not None and issubclass(origin, Mapping):
        return _convert_mapping(hint, value, where)
    return _convert_scalar(hint, value, where)


def _convert_optional(hint: Any, value: Any, where: str) -> Any:
    options = [option for option in typing.get_args(hint) if option is not type(None)]
    if value is None and len(options) < len(typing.get_args(hint)):
        return None
    return _convert(options[0], value, where)


def _convert_tuple(hint: Any, value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise ConfigError(f"{where} is {_short(value)}; expected a list")
    items = typing.get_args(hint)
    if len(items) == 2 and items[1] is Ellipsis:
        items = (items[0],) * len(value)
    if len(items) != len(value):
        raise ConfigError(f"{where} has {len(value)} entries; expected {len(items)}")
    return tuple(
        _convert(item, entry, f"{where}[{i}]") for i, (item, entry) in enumerate(zip(items, value, strict=True))
    )


def _convert_mapping(hint: Any, value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ConfigError(f"{where} is {_short(value)}; expected a table")
    item = typing.get_args(hint)[1]
    return {key: _convert(item, entry, f"{where}.{key}") for key, entry in value.items()}


def _convert_scalar(hint: Any, value: Any, where: str) -> Any:
    if hint is float and type(value) in (int, float):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise ConfigError(f"{where} is {_short(value)}; expected a finite number")
        return number
    if type(value) is not hint:
        raise ConfigError(f"{where} is {_short(value)}; expected {_TYPE_NAMES.get(hint, hint)}")
    return value


_TYPE_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
