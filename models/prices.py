"""Whether a limit of cost can be held: it takes a price for each model that may be asked."""

from __future__ import annotations

from manus.models.model_names import DEFAULT_MODEL
from manus.state.context import Context
from manus.state.errors import UsageError
from manus.state.settings import Settings


def check_prices(settings: Settings, context: Context, role: str) -> None:
    """See that there are prices, where cost is limited.

    Raises:
        UsageError: the price of a model that may be asked is not known.
    """
    if context.budget.over(settings.budget).cost is None:
        return
    own = settings.for_role(role)
    first = own if role in settings.roles else own.at(context.model, context.base_url)
    for chosen in (first, *map(settings.for_role, settings.roles)):
        for endpoint in chosen.with_fallbacks():
            model = endpoint.model or DEFAULT_MODEL
            if settings.price_of(model) is None:
                raise UsageError(
                    f"A limit of cost cannot be held, because there is no price of `{model}`: add "
                    f'[prices."{model}"] to manus.toml, or limit tokens instead.'
                )
