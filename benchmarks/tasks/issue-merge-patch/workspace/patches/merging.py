"""Apply a patch."""


def merge(target, patch):
    """Return the target with the patch applied."""
    if not isinstance(patch, dict):
        return patch
    if not isinstance(target, dict):
        return patch
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif key in target:
            target[key] = merge(target[key], value)
        else:
            target[key] = value
    return target
