"""Sums of orders."""


def calc_total(lines, discount=0.0):
    """The price of (number, price) lines."""
    return sum(number * price for number, price in lines) * (1 - discount)
