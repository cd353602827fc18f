"""Flatten nested settings."""


def flatten(tree, prefix=""):
    """`{"a": {"b": 1}}` as `{"a.b": 1}`."""
    flat = {}
    for key, value in tree.items():
        path = f"{prefix}.{key}" if prefix else key
        if isinstance(value, dict):
            flat.update(flatten(value, path))
        else:
            flat[path] = value
    return flat


def depth(tree):
    """How deep the settings are nested."""
    if not isinstance(tree, dict) or not tree:
        return 0
    return 1 + max(depth(value) for value in tree.values())


def main():
    print(flatten({"a": {"b": 1}}))


if __name__ == "__main__":
    main()
