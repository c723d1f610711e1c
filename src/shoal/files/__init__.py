"""Tables in and out of files, whole or not at all.

Delimited text (CSV, TSV, plain or gzipped), Parquet, SAS, Stata and SPSS come in as Polars frames and leave the same
way. What is promised:

- **Nothing is lost in reading.** Types of delimited text are told from every cell of a column, so a text on the last
  line makes the column text; codes with leading zeros (``01301``) stay text; ``NA`` and ``None`` stay text; an empty
  cell is null. Codes of statistical files stay codes, with their labels kept beside them.
- **Nothing half-written.** A file is written beside its place under another name, then moved there in one step.
- **Nothing leaks.** No error quotes a cell. A written file holds the cells, the column names and the labels that
  were given: no index, no path, no clock, no category that occurs in no row.
- **The same frame gives the same bytes** (with the same library versions).
"""

from shoal.files.atomic import sha256, write_text
from shoal.files.source import Labels, Source
from shoal.files.table import read_source, read_table, write_table

__all__ = ["Labels", "Source", "read_source", "read_table", "sha256", "write_table", "write_text"]
