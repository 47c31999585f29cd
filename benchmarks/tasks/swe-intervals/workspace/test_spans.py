from spans import merge

assert merge([(1, 3), (2, 5)]) == [(1, 5)]
assert merge([(1, 3), (3, 5)]) == [(1, 5)], "they touch"
assert merge([(4, 6), (1, 2)]) == [(1, 2), (4, 6)], "sorted"
print("ok")
