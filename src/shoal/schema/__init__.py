"""What each column is: roles, kinds, domains, rules between columns; read, written, or proposed from a table."""

from shoal.schema.column import NAMING, Column, Kind, Level, Missing, Role
from shoal.schema.constraint import Rule
from shoal.schema.schema import Schema

__all__ = ["NAMING", "Column", "Kind", "Level", "Missing", "Role", "Rule", "Schema"]
