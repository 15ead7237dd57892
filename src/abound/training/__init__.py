"""Training of rankers: order of the rows, passes, shards and rounds, on one machine or several."""
