"""The question that is left once the documents of a RAG client, and its template, are cut out."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.openai_api.chat.request import parse_chat
from proxy.openai_api.documents.question import user_question, without_documents
from tests.openai_api.test_documents import ANTHROPIC, CLIENTS, HOSTILE, IRON, OPEN_WEBUI, TOWER

QUESTION = "How high is the tower?"
QUESTIONS = [
    QUESTION,
    "Tell me about the tower.",
    "How high is it?\n\nAnd when did it open? Answer in one line.",
    "- height\n- year\n\nplease",
    "铁塔多高？",
    "埃菲尔铁塔什么时候建成？\n请用一句话回答。",
]

OPEN_WEBUI_HEAD = OPEN_WEBUI.partition("<context>")[0]
SOURCES = {
    "id and name": f'<source id="1" name="a.pdf">{TOWER}</source>\n'
    f'<source id="2" name="c.pdf">{IRON}</source>',
    "resource id": f'<source id="1" resource-id="7f3a-11" name="a.pdf">{TOWER}</source>',
    "children": f"<source><source_id>1</source_id><source_context>{TOWER}</source_context></source>",
}
CONTEXTS = {name: f"<context>\n{sources}\n</context>\n" for name, sources in SOURCES.items()}

TEMPLATES = {
    **{
        f"open_webui, {name}": f"{OPEN_WEBUI_HEAD}{context}\n{{question}}"
        for name, context in CONTEXTS.items()
    },
    "open_webui, tagged question": f"""{OPEN_WEBUI_HEAD}### Output:
Provide a clear and direct response to the user's query.

{CONTEXTS["resource id"]}
<user_query>
{{question}}
</user_query>""",
    "open_webui, labelled question": f"""Use the following context as your learned knowledge, inside XML tags.
<context>
{TOWER}
</context>

When answer to user:
- If you don't know, just say that you don't know.
Avoid mentioning that you obtained the information from the context.
And answer according to the language of the user's question.

Given the context information, answer the query.
Query: {{question}}""",
    "open_webui, question and template": f"{{question}}\n\n{OPEN_WEBUI_HEAD}{CONTEXTS['id and name']}",
    "llama_index": f"""Context information is below.
---------------------
{TOWER}
---------------------
Given the context information and not prior knowledge, answer the query.
Query: {{question}}
Answer: """,
    "langchain": f"""Use the following pieces of context to answer the question at the end.
If you don't know the answer, just say that you don't know.

{TOWER}

{IRON}

Question: {{question}}
Helpful Answer:""",
    "langchain_hub": f"""You are an assistant for question-answering tasks.
Use the following pieces of retrieved context to answer the question.
Question: {{question}}
Context: {TOWER}
Answer:""",
    "documents first": f"<documents><document>{TOWER}</document></documents>\n\n{{question}}",
    "documents last": f"{{question}}\n\n<documents><document>{TOWER}</document></documents>",
    "numbered": f"Document 1: {TOWER}\n\nDocument 2: {IRON}\n\n{{question}}",
    "bracketed": f"[webpage 1 begin]{TOWER}[webpage 1 end]\n\n{{question}}",
    "chinese": f"已知信息：\n{TOWER}\n\n回答要求：\n- 请使用简洁的语言。\n问题：\n{{question}}",
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", TEMPLATES)
def test_only_the_users_question_is_left_of_a_template(name: str, question: str) -> None:
    assert without_documents(TEMPLATES[name].replace("{question}", question)) == question


def test_a_question_that_sounds_like_a_template_is_still_the_question() -> None:
    question = "Based on the documents above, say who built it."
    assert without_documents(f"<context>{TOWER}</context>\n\n{question}") == question
    assert without_documents(f"{question}\n\n<context>{TOWER}</context>") == question


@pytest.mark.parametrize("name", [name for name, (role, _, _) in CLIENTS.items() if role == "user"])
def test_no_document_is_left_in_the_question_of_any_client(name: str) -> None:
    question = without_documents(CLIENTS[name][1])
    assert len(question) < 40
    assert not any(text in question for text in (TOWER, IRON, "<", "[webpage", "330"))


@pytest.mark.parametrize("question", [*QUESTIONS, "Is `<source>` a tag?", "Question: is this one?", ""])
def test_a_question_without_documents_stays_as_it_is(question: str) -> None:
    assert without_documents(question) == question


WAYS: dict[str, list[dict[str, Any]]] = {
    "in vouch.documents": [{"role": "user", "content": QUESTION}],
    "in the system message": [
        {"role": "system", "content": f"Be brief.\n\nContext:\n{TOWER}"},
        {"role": "user", "content": QUESTION},
    ],
    "in the user message": [
        {"role": "user", "content": TEMPLATES["open_webui, resource id"].replace("{question}", QUESTION)}
    ],
    "in a part of their own": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": ANTHROPIC.removesuffix("Summarise them.")},
                {"type": "image_url", "image_url": {"url": "data:,x"}},
                {"type": "text", "text": QUESTION},
            ],
        }
    ],
    "in a message of their own, before": [
        {"role": "user", "content": f"<context>{TOWER}</context>"},
        {"role": "user", "content": QUESTION},
    ],
    "in a message of their own, behind": [
        {"role": "user", "content": QUESTION},
        {"role": "user", "content": f"<context>{TOWER}</context>"},
    ],
    "from a tool": [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "content": TOWER},
    ],
}


@pytest.mark.parametrize("way", WAYS)
def test_the_question_does_not_depend_on_how_documents_are_sent(way: str) -> None:
    assert parse_chat({"messages": WAYS[way]}).chat.question == QUESTION


def test_messages_that_ask_nothing_have_no_question() -> None:
    assert user_question([{"role": "user", "content": f"<context>{TOWER}</context>"}]) == ""
    assert user_question([{"role": "user", "content": None}, {"role": "system", "content": "Hi."}]) == ""


@pytest.mark.parametrize("unit", HOSTILE)
def test_cutting_comes_to_an_end(unit: str) -> None:
    text = unit * (100_000 // len(unit))  # in quadratic time it would not, before pytest's time-out
    assert len(without_documents(text)) <= len(text)
