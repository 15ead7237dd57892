"""Ratings of jokes by people whose tastes are alike in a few respects."""

from pathlib import Path

import numpy as np

from tests.made_data.files import write_lines

PEOPLE, JOKES = 1_500, 100


def write(folder: Path) -> dict[str, int]:
    """Write ratings from -10 to 10; three people in ten rated all jokes, the others about seven in ten."""
    rng = np.random.default_rng(0)
    tastes = 2.2 * rng.normal(size=(PEOPLE, 3)) @ rng.normal(size=(3, JOKES))
    values = np.clip(1 + 2.5 * rng.normal(size=(PEOPLE, 1)) + tastes + 2 * rng.normal(size=tastes.shape), -9.95, 9.9)
    rated = (rng.random(values.shape) < 0.7) | (np.arange(PEOPLE)[:, None] % 10 < 3)
    lines = (f"{person}\t{joke}\t{values[person, joke]:.2f}" for person, joke in np.argwhere(rated).tolist())
    return write_lines(folder, "jester5k/ratings.tsv.xz", lines)
