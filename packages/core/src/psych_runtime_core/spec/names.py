"""Names that no author's tool may take: they belong to tools of the runtime's own."""

# The tool by which an answer that must fit a schema is given.
ANSWER_TOOL = "final_answer"
# The tool by which a large result is read on.
READ_TOOL = "read_tool_output"

RESERVED_TOOL_NAMES = frozenset(
    {
        "ask_question",
        "call_tool",
        "check_subagent",
        "delegate",
        ANSWER_TOOL,
        "forget",
        "get_tool_info",
        "list_tools",
        "load_skill",
        "message_subagent",
        READ_TOOL,
        "remember",
        "run_code",
        "show_component",
        "spawn_subagent",
        "update_tasks",
    }
)
