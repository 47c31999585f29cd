"""Names of similar tools in other agents, which models call out of habit."""

from __future__ import annotations

import re

_NAMES = {
    "bash": (
        "shell terminal sh cmd command console exec execute run run_command run_shell "
        "run_shell_command run_terminal_cmd run_terminal_command run_in_terminal execute_bash "
        "execute_command execute_shell execute_shell_command exec_command shell_command "
        "local_shell bash_tool bash_command shell_tool shell_exec terminal_command "
        "grep glob ls list_dir list_directory list_files find_files search_files grep_search "
        "file_search codebase_search git"
    ),
    "python_execute": (
        "python python3 py ipython jupyter run_python execute_python execute_code run_code "
        "code_interpreter python_interpreter python_repl python_tool execute_ipython_cell "
        "code_execution run_python_code notebook"
    ),
    "str_replace_editor": (
        "edit editor write read view read_file write_file edit_file create_file view_file "
        "open_file cat_file str_replace str_replace_based_edit_tool text_editor file_editor "
        "replace_in_file write_to_file search_replace replace insert multi_edit apply_patch "
        "update_file file_write file_read file_saver"
    ),
    "terminate": (
        "finish done submit complete end stop exit quit final_answer answer_user "
        "attempt_completion task_complete complete_task finish_task end_task task_done return"
    ),
    "web_search": (
        "search search_web google google_search search_google internet_search websearch "
        "duckduckgo duckduckgo_search tavily_search brave_search bing_search"
    ),
    "browser_use": (
        "browser browse navigate goto go_to_url open_url visit visit_page visit_webpage "
        "web_fetch fetch fetch_url fetch_webpage fetch_content read_url read_web_page scrape crawl "
        "browser_navigate browser_click browser_action computer_use"
    ),
    "ask_human": (
        "ask ask_user ask_question ask_user_question ask_followup_question user_input "
        "human_input request_user_input clarify message_ask_user"
    ),
    "planning": "plan planner update_plan create_plan todo todos todo_write write_todos todo_list",
    "delegate": "task agent subagent sub_agent spawn_agent dispatch_agent new_task run_subagent",
    "remember": "memory memorize save_memory add_memory store_memory update_memory",
    "skill": "skills use_skill load_skill read_skill get_skill",
    "data_visualization": "chart plot visualize create_chart plot_chart draw_chart",
    "make_report": "report write_report create_report",
}
_OURS = {other: name for name, others in _NAMES.items() for other in others.split()}
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def normalize_name(name: str) -> str:
    """Return a tool's name in snake case, without the namespace prefix that some models add."""
    bare_name = re.split(r"[./:]", name.strip())[-1]
    return _WORD_START.sub("_", bare_name).lower().replace("-", "_")


def find_our_name(name: str) -> str | None:
    """Return our name of a tool, given another agent's normalized name; None if unknown."""
    return _OURS.get(name)
