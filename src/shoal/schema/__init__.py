"""What each column is: roles, kinds, domains, rules between columns; read, written, or proposed from a table."""

from shoal.schema.column import NAMING, Absence, Column, Kind, Level, Missing, Role
from shoal.schema.constraint import Rule
from shoal.schema.schema import Schema
from shoal.schema.tables import LinkedSchema, LinkedTable, read_schema

__all__ = [
    "NAMING",
    "Absence",
    "Column",
    "Kind",
    "Level",
    "LinkedSchema",
    "LinkedTable",
    "Missing",
    "Role",
    "Rule",
    "Schema",
    "read_schema",
]
