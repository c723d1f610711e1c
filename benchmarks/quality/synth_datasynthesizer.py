"""DataSynthesizer (PrivBayes) on a CSV file of cells, in its own process: it needs an environment of its own.

    pip install DataSynthesizer
    python benchmarks/quality/synth_datasynthesizer.py IN.csv OUT.csv --epsilon 1 --rows 50000

Every column is a category. Prints the seconds of fit and sample, wall clock and CPU with child processes. What it
promises is its own matter: it reads the levels from the data, and this benchmark takes its ε at its word.
"""

import argparse
import json
import os
import tempfile
import time


def spent():
    """CPU seconds of this process and of its children that have ended."""
    found = os.times()
    return found.user + found.system + found.children_user + found.children_system


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("data")
    ask.add_argument("out")
    ask.add_argument("--epsilon", type=float, default=1.0)
    ask.add_argument("--rows", type=int, required=True)
    ask.add_argument("--parents", type=int, default=2)
    ask.add_argument("--seed", type=int, default=0)
    given = ask.parse_args()
    from DataSynthesizer.DataDescriber import DataDescriber
    from DataSynthesizer.DataGenerator import DataGenerator

    with open(given.data, encoding="utf-8") as file:
        names = file.readline().strip().split(",")
    wall, cpu = time.perf_counter(), spent()
    describer = DataDescriber(category_threshold=1000)
    describer.describe_dataset_in_correlated_attribute_mode(
        dataset_file=given.data,
        k=given.parents,
        epsilon=given.epsilon,
        attribute_to_is_categorical=dict.fromkeys(names, True),
        attribute_to_is_candidate_key=dict.fromkeys(names, False),
        seed=given.seed,
    )
    with tempfile.NamedTemporaryFile(suffix=".json") as description:
        describer.save_dataset_description_to_file(description.name)
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(given.rows, description.name, seed=given.seed)
    generator.save_synthetic_data(given.out)
    print(json.dumps({"wall": time.perf_counter() - wall, "cpu": spent() - cpu}))


if __name__ == "__main__":
    main()
