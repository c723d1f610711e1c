"""A run on a real local cluster, two executors of their own, one of which is killed in the middle of it.

    python tests/engines/lost_executor.py FOLDER        with FOLDER/in, the files of a table

Run by `test_spark.py` in a process of its own, since a process has one Spark. Prints what was made, as JSON.
"""

import json
import os
import signal
import sys
from pathlib import Path

import pyspark

os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
os.environ["PYSPARK_PYTHON"] = sys.executable

import shoal
from shoal.dp import Account, Budget
from shoal.engine import Inputs
from shoal.engine.spark import SparkEngine
from shoal.recipe import Anonymization, Synthesis
from shoal.release.on_engine import cells, synthesize
from shoal.release.on_engine.cells import Plan
from shoal.release.on_engine.make import release_files

KEY = "3c" * 32
BASE = {"quasi": ["age", "zip", "ill"], "sensitive": ["cost"], "other": ["rate"]}
PUBLIC = {
    "levels": {"zip": [f"0{z}" for z in range(100, 106)], "ill": ["no", "flu", "cancer"]},
    "bounds": {"age": (20, 60), "cost": (0, 400), "rate": (0, 1)},
}
RECIPE = Anonymization.of(shoal.KMember(k=5), shoal.GaussianDither())
PLAN = Plan(rows=700, sample=1500)


def executor():
    """The process of the executor: the parent of the daemon that Python workers are forked from."""
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().rsplit(")", 1)[1].split()[1])


def killing(function, sign):
    """The same function, but whoever calls it first kills the executor that it runs on."""

    def killed(*given):
        try:
            os.close(os.open(sign, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return function(*given)
        os.kill(executor(), signal.SIGKILL)
        raise AssertionError("the executor is gone")

    return killed


def main(base):
    from pyspark import cloudpickle
    from pyspark.sql import SparkSession

    cloudpickle.register_pickle_by_value(sys.modules["__main__"])
    builder = SparkSession.builder.master("local-cluster[2,1,700]").config("spark.ui.enabled", "false")
    session = builder.config("spark.executor.memory", "500m").config("spark.sql.shuffle.partitions", "4").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    inputs = Inputs.of(base / "in")
    whole, drawn = cells._cell_function, synthesize._range
    cells._cell_function = lambda *given: killing(whole(*given), str(base / "masking"))
    synthesize._range = lambda *given: killing(drawn(*given), str(base / "drawing"))
    synthesize.ROWS_OF_A_RANGE = 300
    with SparkEngine(session=session) as engine:
        schema = shoal.Schema.of(unit="who", **BASE)
        made = release_files(engine, inputs, schema, RECIPE, base / "masked", seed=7, key=KEY, plan=PLAN)
    with SparkEngine(session=session) as engine:
        schema = shoal.Schema.of(identifier=["who"], **BASE, **PUBLIC)
        account = Account.open(base / "in", limit=Budget(epsilon=2))
        recipe = Synthesis.of(shoal.PeGS(epsilon=1.0), rows=1500)
        rows = release_files(engine, inputs, schema, recipe, base / "drawn", account=account).n_rows
        charges = len(account.entries)
    session.stop()
    print(json.dumps({"parts": [part.sha256 for part in made.parts], "rows": rows, "charges": charges}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
