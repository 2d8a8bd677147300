"""`tools` and `tool_choice` as chat completions have them."""

from __future__ import annotations

from typing import Any

from proxy.errors import RequestError
from proxy.openai_api.kinds import chosen, expect, required
from proxy.types import Json

_FUNCTION = ("name", "description", "parameters", "strict")
_MODES = {mode: mode for mode in ("none", "auto", "required")}


def tools_of(given: list[Any]) -> list[Json]:
    """Functions, nested. Raises `RequestError` for tools that OpenAI itself would run."""
    return [_tool(expect(tool, dict, f"tools.{at}"), f"tools.{at}") for at, tool in enumerate(given)]


def tool_choice_of(given: Any) -> str | Json:
    """What the model may or must call. Raises `RequestError`."""
    if isinstance(given, str):
        return chosen(given, _MODES, "tool_choice")
    choice = expect(given, dict, "tool_choice")
    if choice.get("type") == "allowed_tools":
        tools = required(choice, "tools", list, "tool_choice")
        named = [_named(tool, f"tool_choice.tools.{at}") for at, tool in enumerate(tools)]
        mode = choice.get("mode") or "auto"
        return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": named}}
    return _named(choice, "tool_choice")


def _tool(tool: Json, param: str) -> Json:
    _only_functions(tool, param)
    required(tool, "name", str, param)
    function = {key: tool[key] for key in _FUNCTION if tool.get(key) is not None}
    return {"type": "function", "function": function}


def _named(given: Any, param: str) -> Json:
    tool = expect(given, dict, param)
    _only_functions(tool, param)
    return {"type": "function", "function": {"name": required(tool, "name", str, param)}}


def _only_functions(tool: Json, param: str) -> None:
    kind = tool.get("type")
    if kind != "function":
        raise RequestError(
            f"Vouch passes on tools of type 'function' only, not {kind!r}: "
            "leave it out, or offer it as a function of your own.",
            param=f"{param}.type",
        )
