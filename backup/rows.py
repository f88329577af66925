"""Every row of the database, as JSON lines in a file for each table."""

import base64
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources.abc import Traversable
from itertools import islice
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.models import AutoField, Field, Model, QuerySet

from core.exceptions import InvalidInput

LEFT_OUT = {"sessions", "axes"}  # apps with rows of the moment: who is signed in or locked out
ROWS_AT_ONCE = 1_000


@contextmanager
def reading_one_state() -> Iterator[None]:
    """In the block, every read sees the database as it is now, whatever others write."""
    if connection.vendor == "sqlite":
        # The transactions of Django are immediate here: they would keep others from writing.
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
    else:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield


def dump_rows(folder: Path, tables: Iterable[QuerySet[Any]] | None = None) -> dict[str, int]:
    """Write the rows of each table, or these rows of these tables, to a new file in the folder;
    return how many by table. The first line has the names of the columns."""
    if tables is None:
        tables = [model._base_manager.all() for model in _list_models()]
    return {rows.model._meta.label_lower: _dump_table(rows, folder) for rows in tables}


def read_rows(folder: Traversable, label: str) -> Iterator[dict[str, Any]]:
    """The rows of a table as they were written, such as ``indexing.node``."""
    with (folder / _file_name(label)).open("rb") as packed, gzip.open(packed) as file:
        names = json.loads(next(file))
        for line in file:
            yield dict(zip(names, json.loads(line), strict=True))


def load_rows(folder: Traversable) -> None:
    """Replace all rows of the database by those of the folder, in the caller's transaction.
    References are checked at its end."""
    models = _list_models()
    with connection.cursor() as cursor:
        for model in models:
            cursor.execute(f"DELETE FROM {_quote(model._meta.db_table)}")  # noqa: S608 - quoted
        for model in models:
            _insert_rows(model, folder, model._meta.concrete_fields, {})
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)


def add_rows(model: type[Model], folder: Traversable, values: Mapping[str, Any]) -> int:
    """Add the rows of a table to those in the database, with new integer keys, and with these
    values in the columns that the table has; return how many. References are checked at the
    transaction's end."""
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, AutoField)]
    return _insert_rows(model, folder, fields, values)


def _dump_table(rows: QuerySet[Any], folder: Path) -> int:
    names = [field.attname for field in rows.model._meta.concrete_fields]
    values = rows.order_by("pk").values_list(*names)
    count = 0
    path = folder / _file_name(rows.model._meta.label_lower)
    with gzip.open(path, "xt", compresslevel=1, encoding="utf-8") as file:
        file.write(json.dumps(names) + "\n")
        for row in values.iterator(chunk_size=ROWS_AT_ONCE):
            file.write(json.dumps(row, default=_to_json, ensure_ascii=False) + "\n")
            count += 1
    return count


def _insert_rows(
    model: type[Model], folder: Traversable, fields: Sequence[Field], values: Mapping[str, Any]
) -> int:
    known = {field.attname for field in model._meta.concrete_fields}
    columns = ", ".join(_quote(str(field.column)) for field in fields)
    marks = ", ".join(["%s"] * len(fields))
    insert = f"INSERT INTO {_quote(model._meta.db_table)} ({columns}) VALUES ({marks})"  # noqa: S608
    rows = read_rows(folder, model._meta.label_lower)
    count = 0
    with connection.cursor() as cursor:
        while batch := list(islice(rows, ROWS_AT_ONCE)):
            if other := sorted(batch[0].keys() ^ known):
                raise InvalidInput(
                    f"The rows of {model._meta.label_lower} have other columns than the table "
                    f"here; they differ by {', '.join(map(repr, other))}.",
                    fix="Use another file or folder: this one was changed after it was written.",
                )
            count += len(batch)
            cursor.executemany(
                insert,
                [
                    [_to_column(field, {**row, **values}[field.attname]) for field in fields]
                    for row in batch
                ],
            )
    return count


def _list_models() -> list[type[Model]]:
    return [
        model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.app_label not in LEFT_OUT
    ]


def _file_name(label: str) -> str:
    return f"{label}.jsonl.gz"


def _quote(name: str) -> str:
    return connection.ops.quote_name(name)


def _to_json(value: Any) -> str:
    """Ids, times and bytes."""
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode()
    return str(value)


def _to_column(field: Field, value: Any) -> Any:
    return field.get_db_prep_save(field.to_python(value), connection)
