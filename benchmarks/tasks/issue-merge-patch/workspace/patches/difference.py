"""Find the patch between two documents."""


def diff(old, new):
    """Return the patch that makes the new document of the old one.

    Raises:
        ValueError: the new document holds a null in an object, which no patch can express.
    """
    if not isinstance(old, dict) or not isinstance(new, dict):
        _check(new)
        return new
    patch = {}
    for key in old:
        if key not in new:
            patch[key] = None
    for key, value in new.items():
        if key not in old:
            _check({key: value})
            patch[key] = value
        elif old[key] != value:
            patch[key] = diff(old[key], value)
    return patch


def _check(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            if inner is None:
                raise ValueError(f"the null of {key} cannot be expressed")
            _check(inner)
