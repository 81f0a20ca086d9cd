"""Run notebooks headlessly with papermill, and keep what they write in ``results/runs``."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path
from typing import Any

from demalib.config import Config
from demalib.files import DataError, display_path, write_json
from demalib.mapping import Mapping

CHECKPOINT = "checkpoint.safetensors"  # of a run that is not finished


def project_root(start: Path | None = None) -> Path:
    """The folder that holds ``notebooks`` and ``results``: found by its marker, not by chance.

    Raises:
        DataError: Neither the working folder nor one above it is a demalib checkout.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "notebooks" / "jupytext.toml").is_file():
            return folder
    raise DataError(
        f"{here}: not inside a checkout of demalib (no notebooks/jupytext.toml above); "
        "change into it first"
    )


def run_dir(config: Config, results: str | Path = "") -> Path:
    """Where a run's files lie: ``results/runs/<pair>/<solver>/<seed>``."""
    results = results or os.environ.get("DEMALIB_RESULTS") or project_root() / "results"
    return Path(results) / "runs" / config.pair / config.solver / str(config.seed)


def save_run(folder: Path, mapping: Mapping, metrics: dict[str, Any]) -> None:
    """Write the mapping, its settings and, last, the figures; each whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping.save(folder / "mapping.safetensors")
    write_json(folder / "config.json", mapping.info)
    if len(mapping.history):
        write_json(folder / "history.json", mapping.history.to_dict(orient="list"))
    write_json(folder / "metrics.json", metrics)
    (folder / CHECKPOINT).unlink(missing_ok=True)


def notebook_parameters(notebook: str | Path, params: dict[str, Any]) -> dict[str, Any]:
    """All parameters of a run: the notebook's defaults, then those given.

    Raises:
        DataError: The notebook is missing, or does not declare a given parameter; papermill
            itself would only warn, and run with the default.
    """
    import papermill  # Jupyter's machinery: needed only here

    if not Path(notebook).is_file():
        raise DataError(f"{notebook}: no such notebook")
    declared = papermill.inspect_notebook(str(notebook))
    if unknown := sorted(set(params) - set(declared)):
        raise DataError(
            f"{Path(notebook).name}: no parameter {', '.join(unknown)}; "
            f"it has {', '.join(sorted(declared))}"
        )
    return {name: ast.literal_eval(p["default"]) for name, p in declared.items()} | params


def run_notebook(notebook: str | Path, out: str | Path, params: dict[str, Any]) -> None:
    """Execute a notebook with papermill and keep it, with its outputs, as ``out``."""
    import papermill
    from traitlets.config import Config as TraitConfig

    notebook_parameters(notebook, params)
    notebook, out = Path(notebook), Path(out).resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    # sockets in the file system: no ports to collide with when many runs share a machine
    transport = TraitConfig(KernelManager={"transport": "ipc"} if os.name == "posix" else {})
    papermill.execute_notebook(
        str(notebook),
        str(out),
        parameters=params,
        cwd=str(notebook.parent),
        kernel_name="python3",
        progress_bar=os.isatty(2),
        config=transport,
    )


def read_metrics(folder: Path) -> dict[str, Any]:
    """The figures of a run."""
    path = folder / "metrics.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{display_path(path)}: no figures here; was the run finished?") from error
    except ValueError as error:
        raise DataError(f"{display_path(path)}: not JSON ({error}); run it again") from error
