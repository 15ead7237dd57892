"""How rankers are trained: the order of the rows, passes, shards and rounds, on one machine or on several."""
