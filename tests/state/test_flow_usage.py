"""The sum of what a flow's parts have used."""

from manus.state.usage import RoleUsage, Usage, add_usage, no_usage


def used(tokens: int, **more: RoleUsage) -> Usage:
    usage = Usage(**{**no_usage(), "input_tokens": tokens, "model_calls": 1})
    if more:
        usage["roles"] = more
    return usage


def by_role(tokens: int) -> RoleUsage:
    return RoleUsage(input_tokens=tokens, output_tokens=0, cached_tokens=0, model_calls=1)


def test_figures_are_summed_role_by_role() -> None:
    planned = used(5, plan=by_role(5))
    total = add_usage(add_usage(add_usage(no_usage(), planned), used(7)), planned)
    total = add_usage(total, used(2, summary=by_role(2)))
    assert (total["input_tokens"], total["model_calls"]) == (19, 4)
    assert total["roles"]["plan"] == {**by_role(10), "model_calls": 2}
    assert total["roles"]["summary"] == by_role(2)


def test_what_is_added_stays_as_it_was() -> None:
    total = add_usage(no_usage(), used(5, plan=by_role(5)))
    add_usage(total, used(3, plan=by_role(3)))
    assert total["roles"]["plan"] == by_role(5)


def test_an_estimate_makes_the_sum_one() -> None:
    total = add_usage(no_usage(), {**used(1), "estimated": True})
    assert add_usage(total, used(1))["estimated"] is True
