"""``--set path=value``: one value of a scenario from the command line, typed by the schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from reports.errors import InputError, Problem
from reports.scenario.merge import Change, Merged, copied, item_index
from reports.scenario.schema import ScenarioFile
from reports.strict_yaml import UNSHOWABLE, did_you_mean, parse
from reports.yaml_problems import KeyPath, annotation_at, keys_at, models_in, number_hint, where


def set_value(merged: Merged, text: str) -> Change | Problem:
    """Apply one ``--set path=value``; the schema decides what kind of value is meant."""
    file = f"--set {text}"
    unshowable = UNSHOWABLE.search(text)
    if unshowable:
        return Problem(f"--set {UNSHOWABLE.sub('?', text)}", "a control character in a text",
                       read=f"U+{ord(unshowable.group()):04X}", expected="text that can be shown")
    name, equals, value_text = text.partition("=")
    if not equals or not name.strip():
        return Problem(file, "has the wrong form", expected="path=value", hint="such as targets.tpot_ms=40")
    path = _path(re.sub(r"\[(\d+)\]", r".\1", name.strip()).split("."), merged)
    if isinstance(path, Problem):
        return Problem(file, path.message, where=path.where, read=path.read, expected=path.expected, hint=path.hint)
    annotation = annotation_at(ScenarioFile, path)
    if path[-2:] in (("workload", "input_tokens"), ("workload", "output_tokens")):
        annotation = float
    elif _is_model(annotation) or _is_mapping(annotation) or _items(annotation):
        return Problem(file, "is a group of values", where=where(path), expected="the path of one value",
                       hint=f"such as {name}.{(keys_at(ScenarioFile, path) or ['NAME'])[0]}")
    value = typed(value_text.strip(), annotation)
    old = merged.get(path)
    merged.put(path, value, (file, None, None))
    return (where(path), _default(path) if old is None else old, copied(value))


def _default(path: KeyPath) -> Any:
    """What holds when a scenario does not state a path."""
    value: Any = None
    for found in models_in(annotation_at(ScenarioFile, path[:-1]))[:1]:
        for name, known in found.model_fields.items():
            if (known.alias or name) == path[-1] and not known.is_required():
                value = known.get_default(call_default_factory=True)
    return list(value) if isinstance(value, tuple) else value


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _is_mapping(annotation: Any) -> bool:
    origin = get_origin(annotation)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _items(annotation: Any) -> bool:
    """Whether a path leads to a list of groups, such as services, whose items have a name or a number."""
    return get_origin(annotation) is tuple and _is_model(get_args(annotation)[0])


def _path(parts: list[str], merged: Merged) -> KeyPath | Problem:
    """Dotted names as a path; names inside a mapping (model names) may hold dots themselves."""
    path: KeyPath = ()
    rest = list(parts)
    while rest:
        annotation = annotation_at(ScenarioFile, path)
        options = keys_at(ScenarioFile, path) if not _is_mapping(annotation) else []
        if _is_mapping(annotation):
            inner = get_args(annotation)[1]
            keep = 1 if _is_model(inner) and len(rest) > 1 else 0
            path = (*path, ".".join(rest[: len(rest) - keep]))
            rest = rest[len(rest) - keep :]
        elif _items(annotation):
            items = merged.get(path)
            index = item_index(items, rest[0])
            if index is None:
                known = [str(item.get("name") or item.get("gpu")) for item in items or () if isinstance(item, dict)]
                return Problem("", "no such item", where=where(path), read=f'"{rest[0]}"',
                               expected=", ".join(known) or "an item of the list", hint=did_you_mean(rest[0], known))
            path = (*path, index)
            rest = rest[1:]
        elif rest[0] in options:
            path = (*path, rest.pop(0))
        elif options:
            return Problem("", "unknown path", where=where(path), read=f'"{rest[0]}"', expected=", ".join(options),
                           hint=did_you_mean(rest[0], options))
        else:
            return Problem("", "a single value has no parts", where=where(path), read=f'"{".".join(rest)}"')
    return path


def typed(text: str, annotation: Any) -> Any:
    """The text of a command line as the schema's type: text stays text, lists may leave out their brackets."""
    if get_origin(annotation) is tuple:
        bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
        items = bare.split(",") if bare.strip() else []
        return [typed(_unquoted(item.strip()), get_args(annotation)[0]) for item in items]
    if annotation is str or (text not in ("true", "false") and number_hint(text) not in ("", "remove the quotes")):
        return text
    try:
        return parse(f"value: {text}", "--set").data["value"]
    except InputError:  # not a YAML value: the schema says what it expected
        return text


def _unquoted(item: str) -> str:
    """An item of a list without the quotes that YAML would take off."""
    return item[1:-1] if len(item) > 1 and item[0] == item[-1] and item[0] in "'\"" else item
