"""`/v1/responses`: the same chats in OpenAI's other dress."""
