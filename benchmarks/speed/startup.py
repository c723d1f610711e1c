"""How long a person waits before anything happens: `import shoal` and `shoal --help`.

Goals: 0.4 s and 0.6 s. A bare interpreter is timed beside them.
"""

import subprocess
import sys
import time

CALLS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import shoal": [sys.executable, "-c", "import shoal"],
    "import shoal; shoal.KMember": [sys.executable, "-c", "import shoal; shoal.KMember"],
    "shoal --help": [sys.executable, "-c", "from shoal.cli.main import run; run()", "--help"],
}


def best_of(command, times=5):
    def once():
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        return time.perf_counter() - start

    return min(once() for _ in range(times))


if __name__ == "__main__":
    for name, command in CALLS.items():
        print(f"{name:<30} {best_of(command):6.2f} s")
