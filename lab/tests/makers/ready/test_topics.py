"""Topics: what is read of owners' archives."""

import json
from pathlib import Path

from owners import archive, put

from makers.ready.topics import TOPIC_TESTS, TOPICS


def test_topics_of_headlines_and_posts(tmp_path: Path) -> None:
    headlines, posts, agencies = TOPICS
    lines = [{"raw": "cat ' s win , again", "label": 11}, {"raw": "dropped", "label": 7}, {"raw": "a bill", "label": 0}]
    put(tmp_path, headlines, {"huffpost.json": "\n".join(map(json.dumps, lines)).encode()})
    post = "From: x\nSubject: Re: engine\n\nIn article 1 he said\n> quoted\nIt knocks.\n--\nme"
    groups = {
        "20news-bydate-train/rec.autos/1": post,
        "20news-bydate-train/rec.sport.hockey/2": "Subject: goal\n\nwhat a game",
        "20news-bydate-train/misc.forsale/3": "Subject: tv\n\n$5",
        "20news-bydate-test/sci.space/4": "Subject: moon\n\nfar",
    }
    put(tmp_path, posts, {"20news-bydate.tar.gz": archive(groups)})
    (later,) = TOPIC_TESTS.values()
    row = "1\tUPDATE 2-Shares fall\tu\tReuters\tb\ts\th\tx\n2\tno category\tu\tp\tz\n"
    put(tmp_path, agencies, {"train.txt": row.encode()})
    assert headlines.rows(tmp_path) == [("cat's win, again", "sports"), ("a bill", "politics")]
    assert posts.rows(tmp_path) == [("engine It knocks.", "vehicles"), ("goal what a game", "sports")]
    assert later.rows(tmp_path) == [("moon far", "science")]
    assert agencies.rows(tmp_path) == [("Shares fall", "business")]
