"""Train one of Annif's projects as its users do, and suggest subjects with it; a project called http is not trained.

Runs in Annif's environment: annif_projects.py FOLDER PROJECT. FOLDER contains projects.cfg, a loaded vocabulary,
train.tsv and test.tsv; the suggestions are written to PROJECT.json.
"""

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

LIMIT = 10
ROWS = 1000  # suggested one at a time over HTTP


def without_download():
    """Split words as Annif does, but treat a title as one sentence: the sentence splitter needs a download."""
    import nltk.data
    import nltk.tokenize

    original = nltk.tokenize.word_tokenize
    nltk.tokenize.word_tokenize = lambda text: original(text, preserve_line=True)
    nltk.data.find = lambda *_: None


def peak_megabytes():
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024


def run(name):
    import annif.registry
    from annif import create_flask_app
    from annif.corpus import DocumentFileTSV

    app = create_flask_app()
    with app.app_context():
        annif.registry.initialize_projects(app)
        project = annif.registry.get_project(name)
        figures = {"name": name, "version": version("annif")}
        if name != "http":
            start = time.perf_counter()
            project.train(DocumentFileTSV("train.tsv", project.subjects))
            figures["train_seconds"] = time.perf_counter() - start
        documents = list(DocumentFileTSV("test.tsv", project.subjects).documents)
        project.suggest(documents[:1])  # loads the model
        start = time.perf_counter()
        if name == "http":
            found = [suggestions for document in documents[:ROWS] for suggestions in project.suggest([document])]
        else:
            found = project.suggest(documents)
        seconds = time.perf_counter() - start
        suggested = []
        for suggestions in found:
            best = sorted(suggestions, key=lambda s: -s.score)[:LIMIT]
            suggested.append([(project.subjects[s.subject_id].uri, float(s.score)) for s in best])
        figures |= {"texts_a_second": len(suggested) / seconds, "peak_megabytes": peak_megabytes()}
    Path(f"{name}.json").write_text(json.dumps({"figures": figures, "suggestions": suggested}))


def main():
    folder, name = sys.argv[1:]
    os.chdir(folder)
    os.environ |= {"ANNIF_CONFIG": "annif.default_config.Config", "ANNIF_PROJECTS": "projects.cfg"}
    without_download()
    run(name)


if __name__ == "__main__":
    main()
