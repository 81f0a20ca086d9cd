"""Print pip's option for PyTorch's CPU index, or nothing.

On Linux the registry's torch is the CUDA build, with gigabytes of libraries that a machine without
a GPU cannot use. The option is printed only if there is no GPU, pip has no other index set up, and
the index answers within seconds. What cannot be found out leaves everything as it is.
"""

import os
import platform
import sys
import threading
import urllib.request
from pathlib import Path

INDEX = os.environ.get("DEMALIB_TORCH_INDEX", "https://download.pytorch.org/whl/cpu")
SECONDS = 4  # for the name server and the answer together


def has_gpu() -> bool:
    """Say whether there is an NVIDIA or AMD GPU that torch could use."""
    return any(Path(device).exists() for device in ("/dev/nvidiactl", "/dev/nvidia0", "/dev/kfd"))


def answers(url: str) -> bool:
    """Say whether the index answers in time."""
    found = []

    def ask() -> None:
        try:
            with urllib.request.urlopen(f"{url}/torch/", timeout=SECONDS) as page:
                found.append(b"torch" in page.read(100_000))
        except Exception:
            found.append(False)

    thread = threading.Thread(target=ask, daemon=True)  # a name server can be slower than a timeout
    thread.start()
    thread.join(SECONDS)
    return bool(found and found[0])


def main() -> None:
    """Print the option, if it helps."""
    set_up = any(os.environ.get(name) for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"))
    helps = platform.system() == "Linux" and not has_gpu() and not set_up
    if helps and answers(INDEX):
        print(f"--extra-index-url {INDEX}")
    sys.stdout.flush()
    os._exit(0)  # without waiting for the thread


if __name__ == "__main__":
    main()
