"""`manus setup`: the settings of the user's own, asked for one by one."""

from __future__ import annotations

import click


@click.command()
def setup() -> int:
    """Choose a model and keep its key: settings that count everywhere."""
    from manus.questions import someone_is_there
    from manus.setup import ask_all, keep
    from manus.state.errors import UsageError
    from manus.state.settings import user_file

    if not someone_is_there():
        raise UsageError(
            f"`manus setup` asks at a terminal; without one, write the settings to {user_file()}."
        )
    keep(ask_all())
    from manus.configuration import read_settings
    from manus.doctor import find_model, print_findings

    finding = find_model(read_settings())
    print_findings([finding])
    return 1 if finding.state == "missing" else 0
