"""The page of a report in Chromium: web_demo/browser/report.test.ts, on pages that are written here."""

from pathlib import Path

import pytest
from browser import PICTURES, Vitest
from report_cases import HOSTILE, LABELS, checked, findings, page

from retvec_lite.report_page import check_page


@pytest.mark.slow
@pytest.mark.usefixtures("node")
def test_the_page_of_a_report_in_chromium(vitest: Vitest, chromium: str, tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(40)]
    pages = {
        "two": page(findings(LABELS[:2])),
        "many": page(findings([f"label_number_{number}_of_many" for number in range(150)], texts, 900)),
        "hostile": page(findings(HOSTILE, HOSTILE)),
        "hostile-check": check_page(checked(HOSTILE, HOSTILE)),
        "check": check_page(checked(texts)),
    }
    for name, made in pages.items():
        (tmp_path / f"{name}.html").write_bytes(made)
    told = {"RETVEC_CHROMIUM": chromium, "RETVEC_REPORTS": str(tmp_path), "RETVEC_PICTURES": str(PICTURES)}
    printed = vitest("--project", "browser", "browser/report.test.ts", **told)
    assert "skipped" not in printed and "Test Files  1 passed" in printed
