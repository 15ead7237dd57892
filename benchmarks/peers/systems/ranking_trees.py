"""Boosted trees for ranking: at most 500 rounds, stopped early by MAP on the validation queries, else defaults."""

import json
import sys
import time
from pathlib import Path

import numpy as np

ROUNDS, PATIENCE, THREADS = 500, 50, 1


def lightgbm_lambdarank(rows):
    import lightgbm

    params = {
        "objective": "lambdarank",
        "metric": "map",
        "eval_at": [1000],
        "num_threads": THREADS,
        "verbosity": -1,
        "seed": 0,
    }
    start = time.perf_counter()
    train = lightgbm.Dataset(rows["X_train"], rows["y_train"], group=rows["sizes_train"])
    valid = lightgbm.Dataset(rows["X_valid"], rows["y_valid"], group=rows["sizes_valid"], reference=train)
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    model = lightgbm.train(params, train, ROUNDS, valid_sets=[valid], callbacks=[stop])
    seconds = time.perf_counter() - start
    return model.predict(rows["X_test"]), seconds, len(model.model_to_string()), lightgbm.__version__


def xgboost_map(rows):
    import xgboost

    params = {"objective": "rank:map", "eval_metric": "map", "nthread": THREADS, "seed": 0}
    start = time.perf_counter()
    train, valid = (xgboost.DMatrix(rows[f"X_{p}"], rows[f"y_{p}"] >= 1) for p in ("train", "valid"))
    train.set_group(rows["sizes_train"])
    valid.set_group(rows["sizes_valid"])
    model = xgboost.train(
        params, train, ROUNDS, evals=[(valid, "valid")], early_stopping_rounds=PATIENCE, verbose_eval=False
    )
    seconds = time.perf_counter() - start
    model = model[: model.best_iteration + 1]
    return model.predict(xgboost.DMatrix(rows["X_test"])), seconds, len(model.save_raw("ubj")), xgboost.__version__


def main():
    systems = {"LightGBM lambdarank": lightgbm_lambdarank, "XGBoost rank:map": xgboost_map}
    folder = Path(sys.argv[2])
    with np.load(folder / "rows.npz") as arrays:
        rows = {name: arrays[name] for name in arrays.files}
    scores, seconds, n_bytes, version = systems[sys.argv[1]](rows)
    np.save(folder / "scores.npy", scores)
    (folder / "outcome.json").write_text(json.dumps({"seconds": seconds, "model_bytes": n_bytes, "version": version}))


if __name__ == "__main__":
    main()
