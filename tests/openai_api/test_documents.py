"""Passages that RAG clients put into their requests, in the forms that those clients use."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proxy.openai_api.documents import request_documents
from proxy.types import Document

Said = list[tuple[int | None, str, str]]

TOWER, IRON = "The tower is 330 metres high.", "It is made of wrought iron."


def read(role: str, content: Any, **more: Any) -> tuple[Document, ...]:
    return request_documents([{"role": role, "content": content, **more}])


def said(role: str, content: Any) -> Said:
    """Number, title and text of each document."""
    return [(one.number, one.title, one.text) for one in read(role, content)]


def texts(role: str, content: Any, **more: Any) -> list[str]:
    return [one.text for one in read(role, content, **more)]


OPEN_WEBUI = f"""### Task:
Respond to the user query using the provided context, incorporating inline citations in the format [id] \
**only when the <source> tag includes an explicit id attribute** (e.g., <source id="1">).

### Guidelines:
- Do not cite if the <source> tag does not contain an id attribute.
* "According to the study, the proposed method increases efficiency by 20% [1]."

<context>
<source id="1" name="a &amp; b.pdf">{TOWER}</source>
<source id="1" name="a &amp; b.pdf">1889 &lt; 1900.</source>
<source id="2" name="c.pdf">{IRON}</source>
</context>

How high is the tower?"""

OLD_OPEN_WEBUI = f"""Use the context.
<context>
<source><source_id>a.pdf</source_id><source_context>{TOWER}</source_context></source>
<source><source_id>2</source_id><source_context>{IRON}</source_context></source>
</context>
"""

ANTHROPIC = f"""<documents>
<document index="1">
<source>report.pdf</source>
<document_content>
{TOWER}
</document_content>
</document>
<document index="2">
<source>report.txt</source>
<document_content>
{IRON}
</document_content>
</document>
</documents>

Summarise them."""

LIBRECHAT = f"""The user has attached a file to the conversation:

  <file>
    <filename>tower.pdf</filename>
    <type>application/pdf</type>
  </file>

A semantic search was executed with the user's message as the query, retrieving the following context inside \
<context></context> XML tags.

<context>
  <file>
    <filename>tower.pdf</filename>
    <context>
      <contextItem>
        <![CDATA[{TOWER} <b> &amp;]]>
      </contextItem>
      <contextItem>
        <![CDATA[{IRON}]]>
      </contextItem>
    </context>
  </file>
</context>

Use the context as your learned knowledge to better answer the user."""

DIFY = f"""Use the following context as your learned knowledge, inside <context></context> XML tags.

<context>
{TOWER}
</context>

When answer to user:
- If you don't know, just say that you don't know."""

ANYTHING_LLM = f"""Given the following conversation and relevant context, reply.
Context:
    [CONTEXT 0]:
{TOWER}
[END CONTEXT 0]

[CONTEXT 1]:
{IRON}
[END CONTEXT 1]

"""

LLAMA_INDEX = f"""Context information is below.
---------------------
page_label: 3
file_path: docs/tower.pdf

{TOWER}

{IRON}
---------------------
Given the context information and not prior knowledge, answer the query.
Query: How high is it?
Answer: """

LLAMA_INDEX_CITATIONS = f"""Every answer should include at least one source citation. For example:
Source 1:
The sky is red in the evening and blue in the morning.
Source 2:
Water is wet when the sky is red.
Query: When is water wet?
Answer: Water will be wet when the sky is red [2].
Now it's your turn. Below are several numbered sources of information:
------
Source 1:
{TOWER}

Source 2:
{IRON}

More of it.

------
Query: How high is it?
Answer: """

LANGCHAIN = f"""Use the following pieces of context to answer the user's question.
If you don't know the answer, just say that you don't know, don't try to make up an answer.
----------------
{TOWER}

{IRON}"""

LANGCHAIN_CLASSIC = f"""Use the following pieces of context to answer the question at the end.
If you don't know the answer, just say that you don't know.

{TOWER}

{IRON}

Question: How high is it?
Helpful Answer:"""

LANGCHAIN_HUB = f"""You are an assistant. Use the following pieces of retrieved context to answer it.
Question: How high is the tower?
Context: {TOWER}

{IRON}
Answer:"""

ALCE = f"""Instruction: Write an accurate answer using only the provided search results.

Question: How high is it?

Document [1](Title: Tower (building)): {TOWER}
Document [2](Title: Iron): {IRON}

Answer:"""

HAYSTACK = f"""Given these documents, answer the question.

Documents:
Document[1]:
{TOWER}
Document[2]:
{IRON}

Question: How high is it?
Answer:"""

DEEPSEEK = f"""# 以下内容是基于用户发送的消息的搜索结果:
[webpage 1 begin]
Title: Tower
URL: https://a.example/tower
Content: {TOWER}
[webpage 1 end]
[webpage 2 begin]{IRON}[webpage 2 end]
在我给你的搜索结果中，每个结果都是[webpage X begin]...[webpage X end]格式的。
铁塔多高？"""

CHINESE = """你是一个专业的助手。请根据参考资料回答。

【参考资料】
文档1：铁塔高330米。
文档2：铁塔由熟铁建成。

【回答要求】
1. 不要编造信息"""

CHINESE_USER = "参考资料：\n[1] 铁塔\n铁塔高330米。\n[2] 材料\n铁塔由熟铁建成。\n\n铁塔多高？"

MAXKB = "已知信息：\n铁塔高330米。\n\n它由熟铁建成。\n回答要求：\n- 请使用简洁的语言。\n问题：\n铁塔多高？"

CLIENTS: dict[str, tuple[str, str, Said]] = {
    "open_webui": (
        "user",
        OPEN_WEBUI,
        [(1, "a & b.pdf", f"{TOWER}\n\n1889 < 1900."), (2, "c.pdf", IRON)],
    ),
    "open_webui_before_0.6": (
        "user",
        OLD_OPEN_WEBUI,
        [(None, "a.pdf", TOWER), (2, "Document 2", IRON)],
    ),
    "anthropic": ("user", ANTHROPIC, [(1, "report.pdf", TOWER), (2, "report.txt", IRON)]),
    "librechat": ("system", LIBRECHAT, [(None, "tower.pdf", f"{TOWER} <b> &amp;\n\n{IRON}")]),
    "dify": ("system", DIFY, [(None, "Message 1, passage 1", TOWER)]),
    "anything_llm": (
        "system",
        ANYTHING_LLM,
        [(None, "Message 1, passage 1", TOWER), (1, "Document 1", IRON)],
    ),
    "llama_index": ("user", LLAMA_INDEX, [(None, "docs/tower.pdf", f"{TOWER}\n\n{IRON}")]),
    "llama_index_citations": (
        "user",
        LLAMA_INDEX_CITATIONS,
        [(1, "Document 1", TOWER), (2, "Document 2", f"{IRON}\n\nMore of it.")],
    ),
    "langchain": ("system", LANGCHAIN, [(None, "Message 1, passage 1", f"{TOWER}\n\n{IRON}")]),
    "langchain_classic": ("user", LANGCHAIN_CLASSIC, [(None, "Message 1, passage 1", f"{TOWER}\n\n{IRON}")]),
    "langchain_hub": ("user", LANGCHAIN_HUB, [(None, "Message 1, passage 1", f"{TOWER}\n\n{IRON}")]),
    "alce": ("user", ALCE, [(1, "Tower (building)", TOWER), (2, "Iron", IRON)]),
    "haystack": ("user", HAYSTACK, [(1, "Document 1", TOWER), (2, "Document 2", IRON)]),
    "deepseek": ("user", DEEPSEEK, [(1, "Tower", TOWER), (2, "Document 2", IRON)]),
    "chinese": (
        "system",
        CHINESE,
        [(1, "Document 1", "铁塔高330米。"), (2, "Document 2", "铁塔由熟铁建成。")],
    ),
    "chinese_user": (
        "user",
        CHINESE_USER,
        [(1, "铁塔", "铁塔\n铁塔高330米。"), (2, "材料", "材料\n铁塔由熟铁建成。")],
    ),
    "maxkb": ("user", MAXKB, [(None, "Message 1, passage 1", "铁塔高330米。\n\n它由熟铁建成。")]),
}


@pytest.mark.parametrize("name", CLIENTS)
def test_the_passages_of_a_client_are_found(name: str) -> None:
    role, content, expected = CLIENTS[name]
    assert said(role, content) == expected
    parts = [{"type": "text", "text": content}, {"type": "image_url", "image_url": {"url": "data:,x"}}]
    assert said(role, parts) == expected


@pytest.mark.parametrize("name", CLIENTS)
def test_lines_may_end_as_windows_ends_them(name: str) -> None:
    role, content, expected = CLIENTS[name]
    found = said(role, content.replace("\n", "\r\n"))
    assert [number for number, _, _ in found] == [number for number, _, _ in expected]


@pytest.mark.parametrize("name", CLIENTS)
def test_what_an_assistant_says_is_no_source(name: str) -> None:
    assert read("assistant", CLIENTS[name][1]) == ()
    assert read("critic", CLIENTS[name][1]) == ()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (f"[Document 1] (Source: a.pdf)\n{TOWER}\n\n---\n\n[Document 2] (Source: b.pdf)\n{IRON}", "a.pdf"),
        (f"[1] Tower\n{TOWER}\n[2] Iron\n{IRON}", "Tower"),
        (f"【1】{TOWER}\n【2】{IRON}", "Document 1"),
        (f"[文档1]\n{TOWER}\n\n[文档2]\n{IRON}", "Document 1"),
        (f"### Source 1: \n{TOWER}\n\n### Source 2: \n{IRON}", "Document 1"),
        (f"**Document 1:**\nTitle: A\n{TOWER}\n**Document 2:**\n{IRON}", "A"),
        (f"Passage 1 - {TOWER}\nPassage 2 - {IRON}", "Document 1"),
    ],
)
@pytest.mark.parametrize("role", ["user", "system", "developer", "tool"])
def test_numbered_passages(role: str, content: str, expected: str) -> None:
    found = read(role, content)
    assert [one.number for one in found] == [1, 2]
    assert [TOWER in found[0].text, found[1].text.endswith(IRON)] == [True, True]
    assert found[0].title == expected


@pytest.mark.parametrize(
    "content",
    [
        "You are a helpful assistant. Cite your sources as [1] and [2].",
        "# Rules\n- be brief\n- documents\n- context\n\nYou must answer in French.",
        "Context: You are a nurse at a hospital and answer patients.",
        "Answer from the text inside <context> and </context> tags.",
        "Context:\n\nQuestion: What is it?",
        "------\nBe brief.\n------\nBe kind.",
        "",
        None,
    ],
)
def test_instructions_are_no_evidence(content: str | None) -> None:
    assert read("system", content) == ()


@pytest.mark.parametrize(
    "content",
    [
        "Context: I am a nurse.\nWhat about source 1: is it any good?",
        "Which is better, [1] or [2]?",
        "[1] is what I meant.",
        "[1]  0.52 0.33\n[7] 0.21",
        "What does <source src='a.mp4'> do, and </source>?",
        '{"text": "The tower is 12 metres high."}',
        "Is it true that the tower is 12 metres high?",
        "The following is a question: how high is the tower?",
    ],
)
def test_the_users_own_words_are_no_evidence(content: str) -> None:
    assert read("user", content) == ()


def test_the_question_behind_numbered_passages_stays_out() -> None:
    question = "Is it true that it is 12 metres high?"
    assert texts("user", f"Document 1: {TOWER}\n\nDocument 2: {IRON}\n\n{question}") == [TOWER, IRON]
    found = texts(
        "user", f"Document 1: {TOWER}\n\nMore.\n\nDocument 2: {IRON}\n\nEnd.\n\nQuestion: {question}"
    )
    assert found == [f"{TOWER}\n\nMore.", f"{IRON}\n\nEnd."]


def test_material_to_the_end_counts_where_the_client_wrote_it() -> None:
    assert texts("system", f"Be brief.\n\nContext:\n{TOWER}\n\n{IRON}") == [f"{TOWER}\n\n{IRON}"]
    assert texts("user", f"Be brief.\n\nContext:\n{TOWER}\n\nHow high is it?") == []


def test_the_instructions_behind_material_stay_out() -> None:
    assert texts("system", f"Context:\n{TOWER}\n\n## Rules:\n- Say only true things.") == [TOWER]
    assert texts("system", f"## References\n```\n{TOWER}\n```\nBe brief.") == [TOWER]


# Tools

NESTED = json.dumps([{"name": "T", "uri": "https://a.example", "text": TOWER}])


@pytest.mark.parametrize(
    "tree",
    [
        {"results": [{"title": "T", "url": "https://a.example", "content": TOWER, "score": 0.9}]},
        [{"page_content": TOWER, "metadata": {"title": "T", "source": "https://a.example", "page": 3}}],
        {"organic": [{"position": 1, "title": "T", "link": "https://a.example", "snippet": TOWER}]},
        {"web": {"results": [{"title": "T", "url": "https://a.example", "description": TOWER}]}},
        {"content": [{"type": "text", "text": NESTED}]},
        {"resource": {"uri": "https://a.example", "title": "T", "text": TOWER, "mimeType": "text/plain"}},
        {"source": "https://a.example", "title": "T", "content": [{"type": "text", "text": TOWER}]},
    ],
)
@pytest.mark.parametrize("role", ["tool", "function"])
def test_objects_with_a_text_are_passages(role: str, tree: Any) -> None:
    for content in (json.dumps(tree), json.dumps(tree, indent=2)):
        [document] = read(role, content)
        assert (document.title, document.url, document.text) == ("T", "https://a.example", TOWER)


def test_numbers_in_json() -> None:
    ids = [3, "7", "x9", 0, 1_000_001, True, 1_000_000]
    rows = [{"id": one, "text": f"Passage of {one}."} for one in ids]
    found = read("tool", json.dumps(rows))
    assert [one.number for one in found] == [3, 7, None, None, None, None, 1_000_000]


def test_lists_of_strings_and_parallel_lists_are_passages() -> None:
    assert texts("tool", json.dumps([TOWER, IRON])) == [TOWER, IRON]
    chroma = {"ids": [["a", "b"]], "documents": [[TOWER, IRON]], "distances": [[0.1, 0.2]]}
    assert texts("tool", json.dumps(chroma)) == [TOWER, IRON]


def test_values_beside_a_description_are_kept() -> None:
    cities = {"cities": [{"name": "Paris", "description": "A capital.", "population": 2_102_650}]}
    assert said("tool", json.dumps(cities)) == [(None, "Paris", "A capital.\npopulation: 2102650")]


@pytest.mark.parametrize(
    "content",
    [
        TOWER,
        '{"temperature": 21, "unit": "C"}',
        '{"text": "not closed',
        "[" * 100_000,
        '{"a":' * 50_000,
        '{"text": "\\ud800"}',
        '{"text": ' + "9" * 10_000 + "}",
        f"<html><source src='x'>{TOWER}<document>no</document> {IRON * 10}</html>",
        f"{TOWER * 20}\n[1] a footnote",
        f"<source id='1'>{TOWER}",
    ],
)
def test_a_result_without_structure_is_one_passage_as_it_is(content: str) -> None:
    assert texts("tool", content) == [content]


def test_a_tool_lends_its_name() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "How is it?"},
        {"role": "assistant", "content": None, "tool_calls": [call, "odd"]},
        {"role": "tool", "tool_call_id": "c1", "content": "Sunny."},
        {"role": "function", "name": "news", "content": [{"type": "text", "text": "None."}]},
    ]
    found = request_documents(messages)
    assert [(one.id, one.title) for one in found] == [
        ("message-3-document-1", "weather, passage 1"),
        ("message-4-document-1", "news, passage 1"),
    ]


def test_an_empty_result_is_none() -> None:
    assert [read("tool", content) for content in ("", "  \n", None, [], [{"type": "text"}])] == [()] * 5


# Numbers


def test_of_two_documents_with_one_number_the_later_keeps_it() -> None:
    messages = [
        {"role": "user", "content": f'<source id="1" name="old.pdf">{TOWER}</source>'},
        {"role": "user", "content": f'<source id="1" name="new.pdf">{IRON}</source>'},
    ]
    found = request_documents(messages)
    assert [(one.number, one.title, one.text) for one in found] == [
        (None, "old.pdf", TOWER),
        (1, "new.pdf", IRON),
    ]
    assert [one.id for one in found] == ["message-1-document-1", "message-2-document-1"]


def test_turns_that_count_anew_are_not_joined() -> None:
    turns = [f"Context:\nDocument 1: {text}\n\nQuestion: What?" for text in (TOWER, IRON)]
    found = request_documents([{"role": "user", "content": turn} for turn in turns])
    assert [(one.number, one.text) for one in found] == [(None, TOWER), (1, IRON)]


def test_passages_of_one_number_and_name_are_sections_of_one_document() -> None:
    [first, _] = read("user", OPEN_WEBUI)
    [(start, heading)] = first.sections
    assert (first.text[start:], heading) == ("1889 < 1900.", "")


def test_what_is_said_again_is_there_once() -> None:
    message = {"role": "user", "content": OPEN_WEBUI}
    once, again = (request_documents([message] * times) for times in (1, 3))
    assert [(one.number, one.text) for one in again] == [(one.number, one.text) for one in once]
    tool = {"role": "tool", "content": TOWER}
    assert len(request_documents([tool, tool])) == 1


def test_ids_are_unique() -> None:
    messages = [
        {"role": role, "content": content.replace(TOWER, f"Tower {at}.").replace(IRON, f"Iron {at}.")}
        for at, (role, content, _) in enumerate(CLIENTS.values())
    ]
    ids = [one.id for one in request_documents(messages)]
    assert len(set(ids)) == len(ids) > 15


# Adversaries


def test_code_points_are_kept() -> None:
    text = "naïve é 👩‍👩‍👧 \u00a0 \u2028 𠀀　全角"
    assert texts("user", f"<document>{text}</document>") == [text]
    assert texts("tool", json.dumps([{"text": text}])) == [text]
    assert texts("tool", text) == [text]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            "<documents><document>a <document>b</document> c</document></documents>",
            ["a <document>b</document> c"],
        ),
        ("<document>a</document></document>\n<document>b</document>", ["a", "b"]),
        ("<document>a<document>b</document>", ["b"]),
        ("<context><source id='1'>never closed</context>", ["<source id='1'>never closed"]),
        ("<document title='a > b'>c</document>", ["c"]),
        ("<document><title>Only</title></document>", ["<title>Only</title>"]),
        ("<document><![CDATA[</document>]]></document>", ["</document>"]),
        ("<document>&#" + "9" * 5000 + ";</document>", ["&#" + "9" * 5000 + ";"]),
        ("<document/> <document />", []),
        ("<document></document>", []),
    ],
)
def test_tags_that_do_not_fit(content: str, expected: list[str]) -> None:
    assert texts("user", content) == expected


HOSTILE = [
    *(
        "<source",
        '<source id="1">',
        "</source>",
        '<source id="',
        "<![CDATA[",
        "<document><![CDATA[",
        "<a b='",
    ),
    *(
        "<context><source>",
        "<document><title>",
        "&#",
        "[",
        "[1 ",
        "【1】",
        '{"a":',
        "title: a",
        "[CONTEXT 1]:",
    ),
    *("[END CONTEXT 1]", "[webpage 1 begin]", "\n", "\n ", "\n[", "\n[1] a", "\nDocument 1: ", "\nContext:"),
    *("\nDocument 1 (Title:", "\nQuestion:", "\n------", "\nthe following context ", "\n# ", "\n```"),
]


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("role", ["user", "system", "tool"])
@pytest.mark.timeout(60)
def test_hostile_repetition_ends_soon(role: str, piece: str) -> None:
    """What takes the square of the length takes minutes."""
    length = 50_000 if "\n" in piece else 200_000
    content = piece * (length // len(piece))
    found = read(role, content)
    assert sum(len(one.text) for one in found) <= len(content) * 1.1
