"""`/v1/responses`: the same chats through OpenAI's Responses API."""
