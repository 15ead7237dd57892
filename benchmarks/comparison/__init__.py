"""Compare abound with other systems on the same rows: equal tuning, equal runs, one result file for each data set."""
