"""What is said in a flow: to the one who plans, to the executor of a step, for the summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def planner(executors: Mapping[str, str], place: str) -> str:
    """Return the planner's system prompt; several executors are listed with descriptions.

    `place`: where the work is done (`manus.prompts.environment_info`).
    """
    return f"""\
You plan work that others carry out. You are given a request and break it into steps with the \
`planning` tool.

A good plan:
- has as few steps as the work needs; a simple request may need only one;
- has steps that each lead to something one can check, written so that whoever carries out a step \
understands it without having seen the other steps' work;
- names the files through which steps hand on their work;
- ends with a check of the whole, where a check makes sense;
- uses names, paths and values from the request word for word, and covers each of its demands.

Steps are numbered from 0. Each step begins when the step before it is completed. A step that \
needs other ones, or none, is an object whose `depends_on` lists their numbers; steps that do not \
need each other are done side by side. The `writes` of such a step lists the files that it makes \
or changes: steps that write the same file take turns, while any number may read it.
{_list_executors(executors) if len(executors) > 1 else ""}
{place}

Do not carry out anything yourself. Answer with one call of `planning`.\
"""


def _list_executors(executors: Mapping[str, str]) -> str:
    first = next(iter(executors))
    listing = "\n".join(f"- {name}: {description}" for name, description in executors.items())
    return f"""
Who can carry out a step; choose with the name in brackets at the beginning of the step's text, \
such as `[{first}] …`:
{listing}
Without a name in brackets it is `{first}`.
"""


PLAN_NOW = "Make the plan for this request: call `planning` with the command `create`."


def ask_again(problem: str) -> str:
    """Return the request after a reply without a usable plan."""
    return (
        f"There is no usable plan yet: {problem} Call `planning` again, with all `steps`: texts, "
        "or objects with `text` and `depends_on`."
    )


NO_CALL = "the reply did not call the tool."
CALL_ANSWERED = "the answer to the call says why."
OTHER_COMMAND = "This call makes no plan; use the command `create`, or `update` for a revision."
DEFAULT_TITLE = "Plan"
DEFAULT_STEPS = (
    "Analyse the request: find out what is there and what exactly is needed",
    "Execute the request: do what it asks for",
    "Verify the result against the request, and fix what is wrong",
)


def revise(request: str, plan: str, details: Sequence[str], why: str) -> str:
    """Return the request for a revision."""
    state = "\n\n".join((plan, *details))
    return f"""\
The request was:
{request}

This is the plan as it stands, with what came of its steps:

{state}

{why}

Revise the plan with the command `update` of `planning`. If one step is to be replaced, give its \
number as `step_index`, and as `steps` only what leads to the same end in another way. Otherwise \
give all steps of the revised plan: repeat the text of completed steps unchanged, and leave out \
what cannot work. A blocked step that you repeat stays blocked, and the steps that depend on it \
are given up; to have it tried again, give it as an object with the `status` `not_started`.\
"""


def blocked(steps: Sequence[str]) -> str:
    """Return the reason for a revision: blocked steps, explained by the notes in the plan."""
    return "These steps are blocked, as their notes say:\n" + "\n".join(
        f"- {step}" for step in steps
    )


def rejected(reason: str) -> str:
    """Return the reason for a revision: a person did not approve the plan."""
    return f"The user has read the plan and does not approve it: {reason or 'no reason given'}"


def steered(message: str) -> str:
    """Return the reason for a revision: the user has sent a message between two steps."""
    return (
        f"The user has sent this message meanwhile; the rest of the plan must follow it: {message}"
    )


OWN_STEP = "(your step, see below)"


def step(request: str, plan: str, results: Sequence[str], index: int, text: str) -> str:
    """Return the request to the executor of a step."""
    parts = ["Results of the steps that yours builds on:", *results, ""] if results else []
    built_on = "\n\n".join(parts)
    return f"""\
You carry out one step of a plan. The user's request, which the whole plan serves:

{request}

{plan}

{built_on}Your step is number {index}: {text}

Do this step and no other; the rest is done by others in the same workspace. Where your \
instructions speak of the request, this step is meant: make no report and no other file that it \
does not ask for. When it is done, say in a few sentences what came of it: what you found, which \
files you made, what those who come after you need to know. If it cannot be done, say why and end \
with a failure.\
"""


def changed_meanwhile(path: str) -> str:
    """Return the note on a file that has changed since the step's last call."""
    return f"Note: `{path}` has been changed by somebody else meanwhile. Read it anew."


def changed_by_both(path: str, titles: Sequence[str]) -> str:
    """Return the note on a file that other steps changed while a call may have changed it too."""
    return (
        f"Note: `{path}` has been changed at the same time by {_steps(titles)}. One change may "
        "have replaced the other: read the file now, and put back what is missing."
    )


def changed_side_by_side(path: str, titles: Sequence[str]) -> str:
    """Return the line of a summary on a file that several steps changed at the same time."""
    return f"- {path}: {_steps(titles)}"


SIDE_BY_SIDE = (
    "Check these files: several steps changed them at the same time, and one change may have "
    "replaced another:"
)


def _steps(titles: Sequence[str]) -> str:
    return "the step " * (len(titles) == 1) + " and ".join(f"“{title}”" for title in titles)


SUMMARIZER = """\
You sum up finished work for the one who asked for it. You write the answer to the request, \
plainly and honestly: what was not done is said as clearly as what was.\
"""


def summary(request: str, plan: str, details: Sequence[str]) -> str:
    """Return the request for a summary."""
    results = "\n\n".join(details)
    return f"""\
The request was:
{request}

It was worked on by a plan. This is what became of it:

{plan}

{results}

Now answer the user: what was done and found, where the results are, and what was not done and \
why. Say only what the results above say. The user has seen neither the plan nor the steps.\
"""


NO_PLAN_YET = (
    "There is no plan yet. If the task takes more than one step, make one with `planning` "
    "(command `create`) before anything else."
)


def own_plan(plan: str) -> str:
    """Return the reminder of the plan that an agent keeps itself."""
    return f"Your plan as it stands:\n\n{plan}\n\nKeep it up to date with `planning`."


def approve_subject(plan: str) -> str:
    """Return the question before a plan is executed, without how to answer."""
    return f"{plan}\n\nShall this plan be carried out?"


def approve(plan: str) -> str:
    """Return the question before a plan is executed, as a terminal shows it."""
    return (
        f"{approve_subject(plan)} Answer `yes`; or `edit N: new text` to change "
        "step N; or `edit`, and below it all steps; or say what should be different; or `cancel`."
    )


BEGUN_BEFORE = "It may have been begun before the plan was changed; look at what is there first."
ENDED_BY_PERSON = "The user ended the run while it waited for an answer."
CANCELLED = "The plan was not approved, and the run was ended by the user."
MODEL_SILENT = "(The model could not be asked for a summary; this is the plan as it ended.)"


def lost_steps(steps: Sequence[str]) -> str:
    """Return the note on steps that were executed and of which the plan knows nothing."""
    listing = "\n".join(f"- {step}" for step in steps)
    return (
        "The plan is older than the record of its steps: these steps, which are missing from it, "
        f"were executed, and their effects remain:\n{listing}\nLook at what is there before you "
        "repeat any of it."
    )
