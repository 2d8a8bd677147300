"""From what the user names to a stream of documents."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from index_builder.documents import BrokenDocument, Document
from index_builder.sources import documents, expand, shortened, with_files
from proxy.errors import SourceError


def write(path: Path, text: str = "Some text.") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def read(*sources: Path | str) -> list[Document | BrokenDocument]:
    return list(documents([str(source) for source in sources]))


def ids(*sources: Path | str) -> list[str]:
    return [
        document.id if isinstance(document, Document) else f"broken: {document.reason}"
        for document in read(*sources)
    ]


def test_a_folder_is_read_with_its_subfolders_sorted_and_ids_are_relative(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.md", "a/c.TXT"):
        write(tmp_path / name)
    assert ids(tmp_path) == ["b.txt", "a/c.TXT", "a/z.md"]


def test_hidden_files_and_version_control_are_skipped(tmp_path: Path) -> None:
    for name in ("a.txt", ".hidden.txt", ".git/b.txt", "CVS/c.txt"):
        write(tmp_path / name)
    assert ids(tmp_path) == ["a.txt"]


def test_a_hidden_file_that_is_named_is_read(tmp_path: Path) -> None:
    assert ids(write(tmp_path / ".notes.txt")) == [".notes.txt"]


def test_unknown_types_are_named_in_a_folder_and_broken_when_named(tmp_path: Path) -> None:
    write(tmp_path / "a.txt")
    picture = write(tmp_path / "b.png")
    assert expand([str(tmp_path)]).ignored == (str(picture),)
    assert ids(tmp_path) == ["a.txt"]
    (broken,) = read(picture)
    assert isinstance(broken, BrokenDocument)
    assert broken.source == str(picture)
    assert "unknown type" in broken.reason


def test_a_loop_of_symbolic_links_ends(tmp_path: Path) -> None:
    write(tmp_path / "docs" / "a.txt")
    (tmp_path / "docs" / "up").symlink_to(tmp_path / "docs")
    assert ids(tmp_path / "docs") == ["a.txt"]


def test_a_linked_folder_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "a.txt")
    write(tmp_path / "docs" / "b.txt")
    (tmp_path / "docs" / "link").symlink_to(tmp_path / "elsewhere")
    assert ids(tmp_path / "docs") == ["b.txt", "link/a.txt"]


def test_globs_are_expanded_from_their_plain_part(tmp_path: Path) -> None:
    for name in ("docs/a.md", "docs/deep/b.md", "docs/c.txt"):
        write(tmp_path / name)
    assert ids(f"{tmp_path}/docs/**/*.md") == ["a.md", "deep/b.md"]
    assert ids(f"{tmp_path}/d*") == ["docs/a.md", "docs/c.txt", "docs/deep/b.md"]


def test_a_name_with_brackets_is_a_file_before_it_is_a_pattern(tmp_path: Path) -> None:
    assert ids(write(tmp_path / "a[1].txt")) == ["a[1].txt"]


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt")
    assert ids(path, tmp_path, path) == ["a.txt"]


def test_ids_are_unique_across_sources_and_rows(tmp_path: Path) -> None:
    rows = "\n".join(json.dumps({"id": "same", "text": f"text {n}"}) for n in range(3))
    write(tmp_path / "one" / "a.txt")
    write(tmp_path / "two" / "a.txt")
    assert ids(tmp_path / "one", tmp_path / "two", write(tmp_path / "r.jsonl", rows)) == [
        "a.txt",
        "a.txt#2",
        "same",
        "same#2",
        "same#3",
    ]


def test_documents_that_share_an_id_are_numbered_in_linear_time(tmp_path: Path) -> None:
    """Also beside documents that are there already, and documents whose own ids are such numbers."""
    rows = ["a", *(f"a#{number}" for number in range(2, 1001)), *["a"] * 1000, "a#2"]
    path = write(tmp_path / "a.jsonl", "".join(json.dumps({"id": id_, "text": "A."}) + "\n" for id_ in rows))
    there = {f"a#{number}" for number in range(1001, 2001)}
    asked = 0

    def taken(id_: str) -> bool:
        nonlocal asked
        asked += 1
        return id_ in there

    found = [document.id for _, document in with_files(expand([str(path)]), taken=taken)]  # type: ignore[union-attr]
    assert found == [*rows[:1000], *(f"a#{number}" for number in range(2001, 3001)), "a#2#2"]
    assert asked < 10 * len(rows)


@pytest.mark.parametrize("name", ["missing", "missing/*.txt"])
def test_a_missing_source_is_named_at_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match="missing"):
        documents([str(tmp_path / name)])


def test_a_folder_without_documents_says_what_can_be_read(tmp_path: Path) -> None:
    write(tmp_path / "a.png")
    with pytest.raises(SourceError, match=r"holds no documents \(it holds a.png\); Vouch reads .*\.md"):
        expand([str(tmp_path)])


def test_a_pipe_is_neither_file_nor_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(SourceError, match="neither a file nor a folder"):
        expand([str(tmp_path / "pipe.txt")])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_broken(tmp_path: Path) -> None:
    write(tmp_path / "a.txt")
    write(tmp_path / "b.txt").chmod(0)
    write(tmp_path / "locked" / "c.txt")
    (tmp_path / "locked").chmod(0)
    results = read(tmp_path)
    (tmp_path / "locked").chmod(0o700)
    kinds = sorted(type(result).__name__ for result in results)
    assert kinds == ["BrokenDocument", "BrokenDocument", "Document"]


def test_what_can_not_be_looked_at_is_broken_in_a_folder_and_an_error_when_named(tmp_path: Path) -> None:
    write(tmp_path / "a.txt")
    (tmp_path / "b.txt").symlink_to("b" * 300)
    assert ids(tmp_path) == ["broken: File name too long", "a.txt"]
    with pytest.raises(SourceError, match="can't be read: File name too long"):
        expand(["b" * 300])


def test_the_name_of_a_broken_file_is_unicode(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/vid\xe9.txt")).touch()
    assert read(tmp_path) == [BrokenDocument(f"{tmp_path}/vid\ufffd.txt", "holds no text")]


def test_an_empty_name_is_not_the_current_folder() -> None:
    with pytest.raises(SourceError, match="without a name"):
        expand([""])


def test_a_file_that_goes_away_meanwhile_is_broken(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt")
    write(tmp_path / "b.txt")
    stream = documents([str(tmp_path)])
    path.unlink()
    first, second = stream
    assert isinstance(first, BrokenDocument)
    assert "No such file" in first.reason
    assert isinstance(second, Document)


def test_documents_are_read_one_at_a_time(tmp_path: Path) -> None:
    write(tmp_path / "a.txt")
    second = write(tmp_path / "b.txt")
    stream = documents([str(tmp_path)])
    next(stream)
    write(second, "Changed after the first was read.")
    document = next(stream)
    assert isinstance(document, Document)
    assert document.text.startswith("Changed")


def test_standard_input_is_a_text(tmp_path: Path) -> None:
    (document,) = documents(["-"], stdin=io.BytesIO("Ein Satz über Öl.\nNoch einer.".encode()))
    assert document == Document("stdin", "Standard input", "Ein Satz über Öl.\nNoch einer.")


def test_standard_input_is_json_lines_where_it_begins_like_them() -> None:
    data = b'{"id": "1", "text": "One."}\n{"text": "Two."}\nnot json\n'
    first, second, broken = documents(["-"], stdin=io.BytesIO(data))
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (first.id, second.id) == ("1", "stdin#2")
    assert broken == BrokenDocument("standard input:3", "not valid JSON: Expecting value at character 0")


def test_a_brace_alone_does_not_make_it_json_lines() -> None:
    (document,) = documents(["-"], stdin=io.BytesIO(b"{curly} words\nand more"))
    assert isinstance(document, Document)
    assert document.text == "{curly} words\nand more"


def test_halves_of_surrogate_pairs_do_not_pass(tmp_path: Path) -> None:
    (document,) = read(write(tmp_path / "a.jsonl", '{"text": "bad \\ud800 half", "title": "\\udfff"}'))
    assert isinstance(document, Document)
    assert (document.title, document.text) == ("\ufffd", "bad \ufffd half")


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://example.org/a?b=c", "https://example.org/a?b=c"),
        ("docs/a.html", "docs/a.html"),
        ("javascript:alert(1)", ""),
        ("JaVaScript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("http://[broken", ""),
    ],
)
def test_urls_that_run_code_do_not_pass(tmp_path: Path, url: str, kept: str) -> None:
    (document,) = read(write(tmp_path / "a.jsonl", json.dumps({"text": "x", "url": url})))
    assert isinstance(document, Document)
    assert document.url == kept


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html"])
@pytest.mark.parametrize("text", ["", " \n\n"])
def test_an_empty_file_is_broken(tmp_path: Path, name: str, text: str) -> None:
    assert ids(write(tmp_path / name, text)) == ["broken: holds no text"]


@pytest.mark.parametrize("name", ["a.jsonl", "b.json"])
def test_a_file_without_rows_is_broken(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, "" if name == "a.jsonl" else "[]")
    assert ids(path) == ["broken: holds no documents"]


def test_a_report_shows_no_line_breaks_and_no_orders_to_terminals_of_file_names(tmp_path: Path) -> None:
    (tmp_path / "a\nskipped \x1b[31mb.pdf").write_bytes(b"x")
    (tmp_path / "c\n\x1b[0m.png").write_bytes(b"x")
    sources = expand([str(tmp_path)])
    (broken,) = documents(sources)
    assert isinstance(broken, BrokenDocument)
    assert broken.source.endswith("a\ufffdskipped \ufffd[31mb.pdf")
    assert shortened(sources.ignored) == "c\ufffd\ufffd[0m.png"
