"""Names that no author's tool may take: they belong to tools of the runtime's own."""

RESERVED_TOOL_NAMES = frozenset(
    {
        "ask_question",
        "call_tool",
        "check_subagent",
        "delegate",
        "final_answer",
        "forget",
        "get_tool_info",
        "list_tools",
        "load_skill",
        "message_subagent",
        "read_tool_output",
        "remember",
        "run_code",
        "show_component",
        "spawn_subagent",
        "update_tasks",
    }
)
