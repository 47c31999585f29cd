from importlib import import_module

SUMS = {"total": "calc_total"}


def figure(name, *args, **options):
    return getattr(import_module("shop.totals"), SUMS[name])(*args, **options)
