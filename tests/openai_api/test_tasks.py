"""Task prompts of chat UIs, as they send them, and prompts that only look like one."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.openai_api.chat.request import task_of

CHAT = "<chat_history>\nUSER: How tall is the Eiffel Tower?\nASSISTANT: 330 metres.\n</chat_history>"


def named(messages: Any) -> str:
    task = task_of(messages)
    assert task is None or task.as_json == ("JSON" in str(messages[0]) or "JSON" in str(messages[-1]))
    return task.name if task else ""


def open_webui(task: str, form: str) -> str:
    return f"### Task:\n{task}\n\n### Output:\n{form}\n\n### Chat History:\n{CHAT}"


TASKS = {
    "a title for the chat": [
        open_webui("Generate a concise title.", 'JSON format: { "title": "your concise title here" }'),
        f'### Tarefa:\nGerar um título.\n### Saída:\nFormato JSON: {{ "title": "seu título" }}\n{CHAT}',
        f'### 任务：\n生成一个简洁的标题。\nJSON 格式：{{ "title": "标题" }}\n{CHAT}',
        "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. "
        f"Only return the title itself.\n\nConversation:\n{CHAT}",
        "Please generate a four to five word title summarizing our conversation without any lead-in.",
        "Analyze this conversation and provide:\n1. The detected language of the conversation\n"
        "2. A concise title in the detected language (5 words or less, no punctuation or quotation)\n\nHi",
        "请为这段对话生成一个标题，不超过十个字，只返回标题。",
        "### Task:\nGenerate a concise, 3-5 word title with an emoji for the chat history.\n### Output:\n"
        f"Return ONLY the title text, nothing else. 3-7 words.\n### Chat History:\n{CHAT}",
        "Create a concise, 3-5 word title with an emoji as a title for the chat history. RESPOND ONLY WITH "
        f"THE TITLE TEXT.\n\n{CHAT}",
    ],
    "tags for the chat": [
        open_webui("Generate 1-3 broad tags.", 'JSON format: { "tags": ["tag1", "tag2", "tag3"] }')
    ],
    "follow-up questions": [
        open_webui("Suggest 3-5 questions.", 'JSON format: { "follow_ups": ["Question 1?", "Question 2?"] }')
    ],
    "search queries": [
        open_webui("Analyze the chat.", 'Strictly return in JSON format: \n{\n  "queries": ["query1"]\n}')
    ],
    "a prompt for an image": [
        open_webui("Generate a prompt.", 'Strictly return in JSON format:\n{\n    "prompt": "Your text."\n}')
    ],
    "an autocompletion": [
        "### Task:\nYou are an autocompletion system.\n- Respond only in JSON format: "
        '`{ "text": "<your_completion>" }`.\n<type>General</type>\n<text>The Eiffel</text>'
    ],
    "an emoji": [
        "Your task is to reflect the speaker's likely facial expression through a fitting emoji. Interpret "
        "emotions from the message.\n\nMessage: ```Hi!```"
    ],
}
QUESTIONS = [
    "How tall is the Eiffel Tower?",
    'Return JSON like {"title": "..."} with the title and the year of the novel.',
    "What is the title of the conversation that Plato wrote about love?",
    "Give me a title and a summary of the book.",
    "Write a short essay about the chat that Nixon had with Mao.",
    "Which tags does HTML have? Answer as JSON.",
    "这部电影的标题是什么？",
    "Describe the facial expression of the Mona Lisa.",
    "Which agent runs the second phase of the agent programme of 1972?",
    "You have been provided with a set of responses from various models to the latest user query. Your task "
    "is to synthesize these responses into a single, high-quality response.\n\nResponses from models: A",
    "Summarize the conversation by integrating new lines into the current summary.\n\nNew summary:",
    "",
]


@pytest.mark.parametrize(
    ("task", "prompt"), [(task, each) for task, prompts in TASKS.items() for each in prompts]
)
def test_a_task_is_recognised_by_what_it_asks_for(task: str, prompt: str) -> None:
    assert named([{"role": "user", "content": prompt}]) == task
    parts: Any = [{"type": "text", "text": prompt}]
    assert named([{"role": "user", "content": "Hi"}, {"role": "user", "content": parts}]) == task


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_no_task(question: str) -> None:
    assert named([{"role": "user", "content": question}]) == ""


@pytest.mark.parametrize(
    ("task", "system", "user"),
    [
        (
            "a title for the chat",
            "Write a concise title for this conversation in the given language. Title in 5 Words or Less. No "
            "Punctuation or Quotation.\n||>User:\nHi",
            "Language: English",
        ),
        (
            "a title for the chat",
            "Write a short orientation title for a reasoning step in a chat UI.\n\n- For a streaming step, "
            "use a 4 to 10 word phrase\n- Output only the title",
            "Status: streaming",
        ),
        (
            "a title for the chat",
            "Generate a short title (four words or less) that describes the topic of the user's messages.",
            "How tall is the Eiffel Tower?",
        ),
        (
            "a label for an agent's steps",
            "Write a short label describing what this block of agent activity accomplished.\n- 5 to 9 words",
            "Tool: search",
        ),
        (
            "a label for an agent's steps",
            "Summarize what this phase of an agent run accomplished.\n- One line, 8 to 18 words, past tense",
            "Activity: searched",
        ),
    ],
)
def test_a_title_or_label_may_be_asked_for_in_the_system_message(task: str, system: str, user: str) -> None:
    assert named([{"role": "system", "content": system}, {"role": "user", "content": user}]) == task
    later = [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": user}]
    assert task_of([{"role": "system", "content": system}, *later]) is None


def test_tools_may_be_asked_for_in_the_system_message() -> None:
    system = 'Available Tools: []\n\nThe format for the JSON response is strictly:\n{\n  "tool_calls": []\n}'
    asked: Any = [{"role": "system", "content": system}, {"role": "user", "content": "Query: weather?"}]
    assert named(asked) == "a choice of tools"


def test_what_was_asked_before_is_no_task_now() -> None:
    before, after = (
        {"role": "user", "content": text} for text in (TASKS["tags for the chat"][0], "And now?")
    )
    assert task_of([before, {"role": "assistant", "content": "{}"}, after]) is None
    assert task_of([before, {"role": "tool", "content": "x"}]) is None
    assert task_of([]) is None
