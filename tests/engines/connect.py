"""Verbs of the engine through Spark Connect: a server of its own process, reached over gRPC.

    python tests/engines/connect.py FOLDER        with FOLDER/in, the files of a table

Run by `test_spark.py` in a process of its own, since a process has one Spark. Prints what came out, as JSON.
"""

import json
import os
import sys
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = sys.executable

from shoal.engine import Inputs
from shoal.engine.marks import with_marks
from shoal.engine.spark import SparkEngine

KEY = "3c" * 32


def main(base):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    assert type(session).__module__.startswith("pyspark.sql.connect")
    (out := base / "connect").mkdir()
    with SparkEngine(session=session) as engine:
        relation = engine.scan(Inputs.of(base / "in"))
        cells = engine.apply(relation, "zip", lambda rows: rows.head(1), relation.types)
        found = {
            "ages": engine.sample(relation, 20, KEY)["age"].to_list(),
            "zips": len(engine.collect(cells)),
            "parts": [part.sha256 for part in engine.write(with_marks(engine, relation, KEY), out)],
        }
    session.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
