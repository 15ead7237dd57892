"""`abound rerank`: learn to rank the documents of queries, one file a command."""

from abound.cli.rerank import apply, evaluate, fit

EPILOG = "Example: abound rerank fit train.letor --model ranker && abound rerank apply ranker test.letor"
HELP = "Rank the documents of queries, and learn it by SVM-map."
COMMANDS = ((fit.fit, fit.EPILOG), (apply.apply, apply.EPILOG), (evaluate.evaluate, evaluate.EPILOG))
