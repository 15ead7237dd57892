"""`abound rerank`: learn to rank the documents of queries. One file per command."""

from abound.cli.rerank import apply, evaluate, fit

EPILOG = "Example: abound rerank fit train.letor --model ranker && abound rerank apply ranker test.letor"
HELP = "Learn to rank the documents of queries with SVM-map."
COMMANDS = ((fit.fit, fit.EPILOG), (apply.apply, apply.EPILOG), (evaluate.evaluate, evaluate.EPILOG))
