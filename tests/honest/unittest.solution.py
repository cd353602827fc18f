"""Text statistics."""

import re


def words(text):
    """Words in small letters."""
    return re.findall(r"[a-z']+", text.lower())


def longest(text):
    """The longest word, the first of several; empty without any."""
    found = words(text)
    if not found:
        return ""
    return max(found, key=len)


def frequencies(text, least=1):
    """How often each word is there, if so often."""
    counts = {}
    for word in words(text):
        counts[word] = counts.get(word, 0) + 1
    return {word: count for word, count in counts.items() if count >= least}


def main():
    print(frequencies("a b a"))


if __name__ == "__main__":
    main()
