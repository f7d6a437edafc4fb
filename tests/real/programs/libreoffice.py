# SPDX-License-Identifier: MIT OR Apache-2.0
"""LibreOffice: a document and a sheet with formulas to pdf, text, odt, ods, docx and csv; text compared."""

from harness.session import Session

ROWS = 1500
PAGE = """<html><body><h1>A document</h1>{paragraphs}<table border=1>{rows}</table><ul>{items}</ul></body></html>"""


def write_sources(session: Session) -> None:
    """A page with headings, tables and lists; a sheet of numbers."""
    words = "Some <b>bold</b> and <i>slanted</i> words, größer. " * 30
    paragraphs = "".join(f"<h2>Part {n}</h2><p>{words}</p>" for n in range(60))
    rows = "".join(f"<tr><td>{n}</td><td>{n * n}</td><td>row {n}</td></tr>" for n in range(200))
    items = "".join(f"<li>item {n}</li>" for n in range(100))
    page = PAGE.format(paragraphs=paragraphs, rows=rows, items=items)
    (session.work / "page.html").write_text(page, encoding="utf-8")
    lines = [f"{n},name {n},{n * 7919 % 1000},=C{n}*2,=SUM(C$1:C{n})" for n in range(1, ROWS + 1)]
    (session.work / "sheet.csv").write_text("\n".join(lines) + "\n")


def run(session: Session) -> None:
    """Every conversion is a process of its own, with a profile that the first one makes."""
    write_sources(session)
    session.as_ordinary_user()
    env = {"SOURCE_DATE_EPOCH": "1709164800", "SAL_USE_VCLPLUGIN": "svp"}

    def convert(kind: str, source: str, *words: str) -> None:
        session.run("soffice", f"-env:UserInstallation=file://{session.work}/profile", "--headless", "--norestore",
                    *words, "--convert-to", kind, source, env=env)

    convert("odt:writer8", "page.html", "--infilter=HTML (StarWriter)")
    for kind in ("pdf", "docx", "txt:Text"):
        convert(kind, "page.odt")
    convert("rtf", "page.docx")
    convert("ods", "sheet.csv", "--infilter=CSV:44,34,76,1,,0,false,true,false,false,false,-1,true")
    convert("xlsx", "sheet.ods")
    session.run("cp", "sheet.xlsx", "back.xlsx")
    convert("csv", "back.xlsx")
    convert("pdf", "back.xlsx")
    for name in ("page.pdf", "back.pdf"):
        session.run("pdftotext", "-layout", name, "-")
        session.run("pdftoppm", "-r", "40", "-l", "3", "-png", name, name)
    session.result("page.txt", "back.csv", "page.rtf", "*.png")
