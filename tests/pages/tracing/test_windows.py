"""The part of a long thread that the chat page shows."""

from manus.pages.trace.model import Notice, TraceRun, TraceStep, omit_old_steps, split_at_messages


def test_old_steps_are_omitted_but_not_what_a_person_said() -> None:
    runs = [
        TraceRun(steps=[TraceStep(1), TraceStep(2)]),
        TraceRun(steps=[TraceStep(number) for number in range(1, 6)]),
    ]
    runs[1].steps[0].notices.append(Notice("message", "", "use tabs"))
    runs[1].steps[3].notices.append(Notice("question", "", "Which?", answer="this"))
    runs[1].steps[4].notices.append(Notice("question", "", "Open?"))
    omit_old_steps(runs, 3)
    assert [(run.omitted, run.window, run.step_count) for run in runs] == [(2, 7, 2), (2, 5, 5)]
    split = split_at_messages(runs[1])
    assert [[step.number for step in part.steps] for part in split] == [[3, 4], [5]]
    assert [[told.text for told in part.said] for part in split] == [["use tabs"], ["Which?"]]
