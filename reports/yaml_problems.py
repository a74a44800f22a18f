"""What a schema found wrong, in words: where, what was read, what was expected, what to do next."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from reports.errors import Problem

KeyPath: TypeAlias = tuple[str | int, ...]
Place: TypeAlias = tuple[str, int | None, int | None]

MOST_PROBLEMS = 500
"""Of one file; who has more fixes these first."""

_EXPECTED = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
    "none_required": "nothing",
    "date_type": "a date such as 2026-11-30",
    "date_from_datetime_parsing": "a date such as 2026-11-30",
    "date_parsing": "a date such as 2026-11-30",
    "date_from_datetime_inexact": "a date such as 2026-11-30",
}
_BOUNDS = {
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "{ge:g} or more",
    "less_than": "less than {lt:g}",
    "less_than_equal": "{le:g} or less",
    "too_short": "at least {min_length} item(s)",
    "too_long": "at most {max_length} item(s)",
    "string_too_short": "at least {min_length} character(s)",
    "string_too_long": "at most {max_length} character(s)",
}


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """``did you mean "x"?``, or nothing when no option is close; one that begins with the word is closest."""
    known = {option.casefold(): option for option in options}
    asked = str(word).casefold()
    begin = sorted((option for option in known if len(asked) > 2 and option.startswith(asked)), key=len)
    close = begin or get_close_matches(asked, known, n=1, cutoff=0.6)
    return f'did you mean "{known[close[0]]}"?' if close else ""


def shown(value: Any) -> str:
    """A value as a problem quotes it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "keys with values"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    text = str(value)
    text = text if len(text) <= 60 else text[:57] + "..."
    return f'"{text}"' if isinstance(value, str) else text


def model_problems(
    model: type[BaseModel], error: ValidationError, data: Any, place: Callable[..., Place]
) -> list[Problem]:
    """One problem for each thing the schema refused, in file order."""
    found = []
    for detail in error.errors(include_url=False)[:MOST_PROBLEMS]:
        if detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]:
            continue  # an item was refused, which is reported by itself; the list is long enough
        loc = _known_path(detail["loc"], data, detail["type"] in ("missing", "extra_forbidden"))
        found.append(_problem(model, detail, loc, place))
    unique = {(p.file, p.line, p.column, p.where, p.message): p for p in found}
    return sorted(unique.values(), key=lambda problem: (problem.file, problem.line or 0, problem.column or 0))


def where(path: KeyPath) -> str:
    """``workload.input_tokens.mean``; list items as ``[0]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _known_path(loc: KeyPath, data: Any, keep_last: bool) -> KeyPath:
    """The path without the parts that a union of types adds to it, which the data does not have."""
    path: KeyPath = ()
    for index, part in enumerate(loc):
        inside = (isinstance(data, dict) and part in data) or (
            isinstance(data, list) and isinstance(part, int) and part < len(data)
        )
        if inside:
            data = data[part]
            path += (part,)
        elif keep_last and index == len(loc) - 1:
            path += (part,)
    return path


def _problem(model: type[BaseModel], detail: Any, loc: KeyPath, place: Callable[..., Place]) -> Problem:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    named = where(loc)
    if kind == "missing":
        file, line, column = place(loc[:-1])
        return Problem(file, "is missing", line, column, where=named, expected=_field_text(model, detail["loc"]))
    if kind == "extra_forbidden":
        file, line, column = place(loc, key=True)
        keys = keys_at(model, detail["loc"][:-1])
        expected = ", ".join(keys) if 0 < len(keys) <= 16 else ""
        return Problem(
            file,
            "unknown key",
            line,
            column,
            where=where(loc[:-1]),
            read=f'"{loc[-1]}"',
            expected=expected,
            hint=did_you_mean(str(loc[-1]), keys)
            or ("write numbers without separators, such as 1000" if re.fullmatch("[0-9]{3}", str(loc[-1])) else ""),
        )
    file, line, column = place(loc)
    read = shown(value)
    if kind in ("literal_error", "enum"):
        options = re.findall(r"'([^']*)'", str(context.get("expected", "")))
        return Problem(
            file,
            "is not one of the accepted values",
            line,
            column,
            where=named,
            read=read,
            expected=", ".join(options) or str(context.get("expected", "")),
            hint=did_you_mean(str(value), options),
        )
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        tag = str(context.get("discriminator", "")).strip("'")
        options = re.findall(r"'([^']*)'", str(context.get("expected_tags", "")))
        written = value.get(tag) if isinstance(value, dict) else None
        file, line, column = place((*loc, tag)) if written is not None else (file, line, column)
        return Problem(file, "is missing" if written is None else "is not one of the accepted values", line, column,
                       where=where((*loc, tag)), read="" if written is None else shown(written),
                       expected=", ".join(options or ["fixed"]), hint=did_you_mean(str(written), options))
    if kind in _EXPECTED:
        return Problem(
            file,
            "cannot be used",
            line,
            column,
            where=named,
            read=read,
            expected=_EXPECTED[kind],
            hint=_form_hint(kind, value),
        )
    if kind in _BOUNDS:
        message = "is empty" if kind.endswith("too_short") and not value else "is out of range"
        return Problem(file, message, line, column, where=named, read=read, expected=_BOUNDS[kind].format(**context))
    if kind == "value_error":
        return Problem(
            file,
            str(context.get("error", detail["msg"])),
            line,
            column,
            where=named,
            read="" if isinstance(value, dict | list) else read,
        )
    if kind == "string_pattern_mismatch":
        return Problem(
            file,
            "has the wrong form",
            line,
            column,
            where=named,
            read=read,
            expected=_field_text(model, detail["loc"]) or f"text like {context.get('pattern')}",
        )
    return Problem(file, detail["msg"], line, column, where=named, read=read)


def _form_hint(kind: str, value: Any) -> str:
    """How to write what was meant when its form is wrong: a list of one, a number as text."""
    if isinstance(value, str) and kind not in ("list_type", "tuple_type"):
        return number_hint(value, flag=kind.startswith("bool"))
    if kind in ("list_type", "tuple_type") and isinstance(value, str | int | float):
        return f"write [{value}]"
    if kind == "string_type" and isinstance(value, int | float) and not isinstance(value, bool):
        return f'put it in quotes: "{value}"'
    return ""


def number_hint(text: str, flag: bool = True) -> str:
    """What to write instead of a text that looks like a number or a flag."""
    bare = text.strip()
    if re.fullmatch(r"[-+]?[0-9.]+ ?[%％]", bare):
        return f"write {float(bare.rstrip('%％ ')) / 100:g}" if bare.count(".") <= 1 else ""
    if re.fullmatch(r"[-+]?0[0-9]+(\.[0-9]+)?", bare):
        return "a leading zero makes it text; remove the zero"
    if re.fullmatch(r"[-+]?[0-9]{1,3}([,_ ，][0-9]{3})+(\.[0-9]+)?", bare):
        return "write " + re.sub("[,_ ，]", "", bare) + ", without separators"
    if re.fullmatch(r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?", bare):
        return "remove the quotes"
    if flag and bare.lower() in ("yes", "no", "on", "off", "true", "false", "y", "n"):
        return "write true or false, without quotes and in small letters"
    return ""


def models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in models_in(part)]


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, types.UnionType)


def _bare(annotation: Any) -> Any:
    """Without ``Annotated`` and without the ``None`` of an optional value."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif _is_union(annotation) and type(None) in get_args(annotation):
            inner = [option for option in get_args(annotation) if option is not type(None)]
            annotation = inner[0] if len(inner) == 1 else Union[tuple(inner)]  # noqa: UP007 - made at run time
        else:
            return annotation


def annotation_at(model: type[BaseModel], loc: KeyPath) -> Any:
    """The type a schema gives to a path (which may hold the tags of unions); None when it knows no such path."""
    annotation: Any = model
    for part in loc:
        annotation = _bare(annotation)
        if _is_union(annotation):
            tagged = [
                option
                for option in models_in(annotation)
                if any(part in get_args(field.annotation) for field in option.model_fields.values())
            ]
            if tagged:
                annotation = tagged[0]
                continue
            named = [option for option in models_in(annotation) if part in _fields(option)]
            annotation = named[0] if named else None
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            field = _fields(annotation).get(str(part))
            if field is None:
                return None
            annotation = field.annotation
        else:
            arguments = [argument for argument in get_args(annotation) if argument is not Ellipsis]
            if not arguments:
                return None
            annotation = arguments[-1]
    return _bare(annotation)


def _fields(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def keys_at(model: type[BaseModel], loc: KeyPath) -> list[str]:
    """The keys a schema accepts at a path; every key of every alternative where there are several."""
    annotation = annotation_at(model, loc)
    if get_origin(annotation) is not None and not _is_union(annotation):
        return []  # a list, or a mapping whose keys are free
    return sorted({key for found in models_in(annotation) for key in _fields(found)})


def _field_text(model: type[BaseModel], loc: KeyPath) -> str:
    """The description the schema gives a field, if it has one."""
    for found in models_in(annotation_at(model, loc[:-1])):
        field = _fields(found).get(str(loc[-1])) if loc else None
        if field is not None:
            return field.description or ""
    return ""
