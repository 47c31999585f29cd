from shop import totals
from shop.totals import calc_total


class Cart:
    def __init__(self):
        self.lines = []

    def total(self):
        return calc_total(self.lines, discount=0.1)

    def full(self):
        return totals.calc_total(self.lines)
